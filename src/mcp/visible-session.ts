import { StoreError } from "../core/errors.ts";
import type { SessionOptions } from "../core/options.ts";
import type { Session } from "../session/session.ts";
import { sessionsBegun } from "../session/sessions-begun.ts";
import type { Store } from "../session/store.ts";

/** Sessions that are named where several may be meant. */
const NAMED_MAX = 8;

/**
 * A session that may be seen, by its id or by the beginning of it, as a person was shown it.
 *
 * @param project  The only one that may; every one if left out.
 * @throws {StoreError} `SESSION_NOT_FOUND`, also for one of another project: nobody is told that it exists; `OPTION_INVALID`
 *   with the ids where several begin so.
 */
export function visibleSession(store: Store, sessionId: string, project: string | undefined): Session {
  try {
    const session = store.resume(sessionId);
    if (project === undefined || session.project === project) return session;
  } catch (error) {
    if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error;
  }
  const [first, ...others] = sessionsBegun(store, sessionId, project);
  if (first === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  if (others.length === 0) return store.resume(first);
  const named = [first, ...others.slice(0, NAMED_MAX - 1)].join(", ");
  const expected = `more of the id, with which ${others.length + 1} begin: ${named}`;
  throw new StoreError("OPTION_INVALID", { option: "sessionId", expected, actual: sessionId });
}

/**
 * The session to append to, made if there is none.
 *
 * @param only  The only project that may be seen. A session of none is not taken into it: then all of it could be read.
 * @throws {StoreError} `OPTION_INVALID` for a session that may not be seen; what `store.session` throws.
 */
export function writableSession(store: Store, id: string, options: SessionOptions, only: string | undefined): Session {
  if (only === undefined) return store.session(id, options);
  const isKnown = store.sessionIds({ prefix: id }).includes(id);
  if (isKnown && store.resume(id).project !== only) {
    const expected = "a new id, or that of a session that can be seen";
    throw new StoreError("OPTION_INVALID", { option: "sessionId", expected, actual: id });
  }
  return store.session(id, { ...options, project: only });
}
