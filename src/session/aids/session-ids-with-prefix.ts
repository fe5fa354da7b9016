import type { Store } from "../store.ts";

/** The date before a UUID, in ids such as `2026-01-15-<UUID>`. */
const DATE = /^\d{4}-\d{2}-\d{2}-(?=[0-9a-f]{8}-[0-9a-f]{4}-)/i;

/**
 * Returns the ids of the sessions whose own or external id begins with a text, shortest first. For a subagent's id,
 * `<session>/agent-…`, the text may shorten both halves. A date before a UUID may be left out. If all other matches are subagents of one match, only that one is
 * returned. An empty text has no matches.
 */
export function sessionIdsWithPrefix(store: Store, typed: string, project?: string): string[] {
  if (typed === "") return [];
  const ids = (prefix: string): string[] => store.sessionIds({ prefix, ...(project !== undefined && { project }) });
  const idsWith = (prefix: string): string[] => {
    const begun = ids(prefix);
    return begun.length > 0 ? begun : ids("").filter((id) => id.replace(DATE, "").startsWith(prefix));
  };
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
