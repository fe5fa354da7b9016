import { StoreError } from "../core/errors.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";

/** Candidates named in the message; more are counted. */
const CANDIDATES_MAX = 8;

/**
 * The session a person means by its id, or by the beginning of its id if no other session's begins so too.
 *
 * Imported subagents are called `<session>/agent-…`: what fits a session and else only what it started means the session.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`; `OPTION_INVALID` with the candidates where there are several.
 */
export function findSession(store: Store, idOrPrefix: string): Session {
  try {
    return store.resume(idOrPrefix);
  } catch (error) {
    if (!StoreError.is(error, "SESSION_NOT_FOUND") || idOrPrefix === "") throw error;
    const candidates = store.sessionIds({ prefix: idOrPrefix }).sort((left, right) => left.length - right.length);
    const [shortest] = candidates;
    if (shortest === undefined) throw error;
    if (candidates.every((id) => id === shortest || id.startsWith(`${shortest}/`))) return store.resume(shortest);
    const named = candidates.slice(0, CANDIDATES_MAX).join(", ");
    const more = candidates.length > CANDIDATES_MAX ? ` and ${candidates.length - CANDIDATES_MAX} more` : "";
    const expected = `the beginning of one session's id, not of ${candidates.length} (${named}${more})`;
    throw new StoreError("OPTION_INVALID", { option: "<session>", expected, actual: idOrPrefix });
  }
}
