import { StoreError, unless } from "../../core/errors.ts";
import { baseNameOf, projectNamed } from "../../core/project.ts";
import type { Store } from "../store.ts";

/**
 * Returns the project that a person or a model means by what they typed: the project itself, its name, or a path in it. What names no
 * project is returned as it is.
 *
 * @throws {StoreError} `OPTION_INVALID` with the names if several folders are called so.
 */
export function projectMeant(store: Store, typed: string): string {
  const projects = store.projects();
  const exact = projects.find(({ project }) => project === typed) ?? projects.find(({ name }) => name === typed);
  if (exact !== undefined) return exact.project;
  const at = projectNamed(typed);
  const called = at === typed ? projects.filter(({ project }) => baseNameOf(project) === typed) : [];
  if (called.length < 2) return called[0]?.project ?? at;
  const names = called.map(({ name }) => `"${name}"`).join(", ");
  const expected = `one of ${names}, because ${called.length} projects are called so`;
  throw new StoreError("OPTION_INVALID", { option: "project", expected, actual: typed });
}

/** Returns what gives a project its name for people, and "" for none. Without the list, which may be damaged, a project is its name. */
export function projectNamer(store: Store): (project: string | null) => string {
  const projects = unless(["STORE_CORRUPT"], () => store.projects()) ?? [];
  const names = new Map(projects.map(({ project, name }) => [project, name]));
  return (project) => (project === null ? "" : (names.get(project) ?? project));
}
