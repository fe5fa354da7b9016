import { StoreError, unless } from "../../core/errors.ts";
import type { SessionOptions } from "../../core/options.ts";
import { isRemembered } from "../../core/verdicts.ts";
import type { Session } from "../session.ts";
import type { Store } from "../store.ts";
import { sessionIds, sessionIdsWithPrefix } from "./session-ids.ts";

/** An error lists at most this many sessions. */
const NAMED_MAX = 8;

/**
 * Finds a visible session by its id or the beginning of its id.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`, also for a session of another project, so that nobody learns that it exists;
 *   `OPTION_INVALID` with the candidates if there are several.
 */
export function visibleSession(store: Store, sessionId: string, project: string | undefined): Session {
  const session = unless(["SESSION_NOT_FOUND"], () => store.resume(sessionId));
  const isVisible = () =>
    project === undefined || sessionIds(store, { prefix: sessionId, project }).includes(sessionId);
  if (session !== undefined && isVisible()) return session;
  const [first, ...others] = sessionIdsWithPrefix(store, sessionId, project);
  if (first === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  if (others.length === 0) return store.resume(first);
  const named = [first, ...others.slice(0, NAMED_MAX - 1)].join(", ");
  const expected = `a longer beginning of the id, because ${others.length + 1} ids begin with it: ${named}`;
  throw new StoreError("OPTION_INVALID", { option: "sessionId", expected, actual: sessionId });
}

/**
 * Returns the session to append to, and creates it if necessary.
 *
 * @param only  The only visible project. A session without a project is not moved into it, because that would make the session visible.
 * @throws {StoreError} `OPTION_INVALID` for a session that is not visible or holds what people asked to remember, and as `store.session`.
 */
export function writableSession(store: Store, id: string, options: SessionOptions, only: string | undefined): Session {
  if (isRemembered(id)) {
    const expected = "the id of another session: `remember` writes to this one";
    throw new StoreError("OPTION_INVALID", { option: "sessionId", expected, actual: id });
  }
  if (only === undefined) return store.session(id, options);
  const isAmong = (project?: string): boolean => sessionIds(store, { prefix: id, project }).includes(id);
  if (isAmong() && !isAmong(only)) {
    const expected = "a new id, or the id of a visible session";
    throw new StoreError("OPTION_INVALID", { option: "sessionId", expected, actual: id });
  }
  return store.session(id, { ...options, project: only });
}
