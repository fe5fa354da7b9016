import type { Store } from "./store.ts";

/**
 * Returns the sessions whose id begins with a text: their own id, or the id in the program that they were imported from.
 *
 * The ids of imported subagents are `<session>/agent-…`. The beginning of each half is enough, so that the shortened ids in lists
 * can be typed. If a text fits a session and otherwise only the sessions that it started, it means that session.
 *
 * @param project  Only sessions of this project.
 * @returns ids, the shortest first: a single one if the meaning is clear, none for an empty text.
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
  found.sort((left, right) => left.length - right.length);
  const [shortest] = found;
  return found.every((id) => id === shortest || id.startsWith(`${shortest}/`)) ? found.slice(0, 1) : found;
}
