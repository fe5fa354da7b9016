import { StoreError } from "../core/errors.ts";
import type { SessionOptions } from "../core/options.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";

/**
 * A session that may be seen.
 *
 * @param project  The only one that may; every one if left out.
 * @throws {StoreError} `SESSION_NOT_FOUND`, also for one of another project: nobody is told that it exists.
 */
export function visibleSession(store: Store, sessionId: string, project: string | undefined): Session {
  const session = store.resume(sessionId);
  if (project !== undefined && session.project !== project) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  return session;
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
