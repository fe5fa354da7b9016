import type { Store } from "./store.ts";

/**
 * Returns the ids of the sessions whose own or external id begins with a text, shortest first. For a subagent's id,
 * `<session>/agent-…`, the text may shorten both halves. If one match has started all the others, only that one is returned. An
 * empty text has no matches.
 */
export function sessionsBegun(store: Store, typed: string, project?: string): string[] {
  if (typed === "") return [];
  const begunWith = (prefix: string): string[] =>
    store.sessionIds({ prefix, ...(project !== undefined && { project }) });
  const [first = "", ...others] = typed.split("/");
  let found = begunWith(typed);
  if (found.length === 0 && others.length > 0 && first !== "") {
    found = begunWith(first).filter((id) => {
      const [, ...pieces] = id.split("/");
      return others.every((piece, index) => pieces[index]?.startsWith(piece));
    });
  }
  const [shortest] = found.sort((left, right) => left.length - right.length);
  return found.every((id) => id === shortest || id.startsWith(`${shortest}/`)) ? found.slice(0, 1) : found;
}
