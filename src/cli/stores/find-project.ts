import { projectAt } from "../../core/project.ts";
import { nearest } from "../../core/suggestion.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import type { Store } from "../../session/store.ts";
import { Failure } from "../failure.ts";

/**
 * Finds a project by its name or a path in it.
 *
 * @throws {Failure} `PROJECT_NOT_FOUND` if no session is of it; {StoreError} `OPTION_INVALID` if several are called so.
 */
export function findProject(store: Store, typed: string): string {
  const meant = projectMeant(store, typed);
  const projects = store.projects();
  if (projects.some(({ project }) => project === meant)) return meant;
  const best = nearest(
    typed,
    projects.map(({ name }) => name),
  );
  const hint = "`coppice projects` lists them.";
  throw new Failure("PROJECT_NOT_FOUND", `No session is of a project called "${typed}".`, {
    hint: best === undefined ? hint : `Did you mean ${best}? ${hint}`,
  });
}

/** Returns the project of this folder, as it is called in the store, if the folder has one. */
export function projectHere(store: Store): string | undefined {
  const project = projectAt(process.cwd());
  return project === undefined ? undefined : projectMeant(store, project);
}
