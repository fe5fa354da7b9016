import { namesOfProjects, type Repositories } from "../store/index.ts";

/** A project as lists show it. */
export interface ProjectInfo {
  /** What tells it apart: the full path of its folder, or the name that a program gave it. Options named `project` take it. */
  project: string;
  /** Its name for people. No other project of the store has it now; it may change when a project comes. */
  name: string;
  sessionCount: number;
}

/** In the order of their names. */
export function projectsOf(repositories: Repositories): ProjectInfo[] {
  const names = namesOfProjects(repositories);
  return repositories.sessions
    .projects()
    .map(({ project, sessionCount }) => ({ project, name: names.get(project)!, sessionCount }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}
