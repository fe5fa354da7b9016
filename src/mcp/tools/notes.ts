import { visibleText } from "../../core/markup.ts";
import { isPath } from "../../core/project.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import type { ToolCall } from "../tool.ts";

/** Returns the option for the project of a call: the server's own, or the one that the model means. */
export function inProject(store: Store, { project }: Pick<ToolCall, "project">, given?: string): { project?: string } {
  if (project !== undefined) return { project };
  return given === undefined ? {} : { project: projectMeant(store, given) };
}

export function noSessionOf(project: string): string {
  return `No session of the project "${visibleText(project)}" is stored.`;
}

/** Says that the project of a call has no session; undefined if it has one, or if no project is given. */
export function missingProject(
  store: Store,
  call: Pick<ToolCall, "project">,
  given: string | undefined,
): string | undefined {
  const { project } = inProject(store, call, given);
  if (project === undefined || sessionIds(store, { project }).length > 0) return undefined;
  if (call.project === undefined) return `${noSessionOf(given!)} list_sessions names the projects.`;
  // A server of one project names no other one.
  return (
    noSessionOf(call.project) + (isPath(call.project) ? "" : " The server's --project takes the path of a folder.")
  );
}

/** An answer names at most this many damaged sessions. */
const NAMED_MAX = 5;

/** Returns a function that collects the ids of sessions that cannot be read. */
export function noteIn(damaged: string[]): (unreadable: { sessionId: string }) => void {
  return ({ sessionId }) => void damaged.push(visibleText(sessionId));
}

/** Returns a sentence that names damaged sessions, with a space before it; "" if there are none. */
export function damageNote(damaged: readonly string[], how: string): string {
  if (damaged.length === 0) return "";
  const named = damaged.length > NAMED_MAX ? [...damaged.slice(0, NAMED_MAX), "…"] : damaged;
  return ` Damaged and ${how}: ${named.join(", ")}.`;
}
