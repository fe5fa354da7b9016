import type { Store } from "./store.ts";

/**
 * The sessions that a beginning of an id may mean: of their own ids, or of those that they have in the program they were
 * imported from.
 *
 * Imported subagents are called `<session>/agent-…`: the beginning of each half will do, so that what a list shows of an id is
 * understood. What fits a session and else only what it started means that session.
 *
 * @param project  Only sessions of this project.
 * @returns ids, the shortest first; one alone where it is clear what is meant, none for an empty text.
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
