import { visibleText } from "../../core/markup.ts";
import type { Store } from "../../session/store.ts";
import type { ToolCall } from "../tool.ts";

export function noSessionOf(project: string): string {
  return `No session of the project "${visibleText(project)}" is stored.`;
}

/** Says that the project of a call has no session; undefined if it has one, or if no project is given. */
export function missingProject(
  store: Store,
  { project: only }: Pick<ToolCall, "project">,
  given: string | undefined,
): string | undefined {
  const project = only ?? given;
  if (project === undefined || store.sessionIds({ prefix: "", project }).length > 0) return undefined;
  // A server of one project names no other one.
  return only === undefined ? `${noSessionOf(project)} list_sessions names the projects.` : noSessionOf(project);
}
