import { visibleText } from "../../core/markup.ts";
import type { Store } from "../../session/store.ts";

export function noSessionOf(project: string): string {
  return `No session of the project "${visibleText(project)}" is stored.`;
}

/** Says that a project has no session; undefined if it has one, or if no project is given. */
export function missingProject(store: Store, project: string | undefined): string | undefined {
  if (project === undefined || store.sessionIds({ prefix: "", project }).length > 0) return undefined;
  return `${noSessionOf(project)} list_sessions names the projects.`;
}
