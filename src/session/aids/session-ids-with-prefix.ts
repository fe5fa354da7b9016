import type { Store } from "../store.ts";

/**
 * Returns the ids of the sessions whose own or external id begins with a text, shortest first. For a subagent's id,
 * `<session>/agent-…`, the text may shorten both halves. If all other matches are subagents of one match, only that one is
 * returned. An empty text has no matches.
 */
export function sessionIdsWithPrefix(store: Store, typed: string, project?: string): string[] {
  if (typed === "") return [];
  const idsWith = (prefix: string): string[] => store.sessionIds({ prefix, ...(project !== undefined && { project }) });
  const [first = "", ...others] = typed.split("/");
  let found = idsWith(typed);
  if (found.length === 0 && others.length > 0 && first !== "") {
    found = idsWith(first).filter((id) => {
      const [, ...pieces] = id.split("/");
      return others.every((piece, index) => pieces[index]?.startsWith(piece));
    });
  }
  const [shortest] = found.sort((left, right) => left.length - right.length);
  return found.every((id) => id === shortest || id.startsWith(`${shortest}/`)) ? found.slice(0, 1) : found;
}
