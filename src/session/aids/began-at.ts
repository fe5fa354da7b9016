import type { Session } from "../session.ts";

/** The time of a session's first message. An imported session was created later, and one without messages has only the time of its creation. */
export function beganAtMs(session: Session): number {
  return session.messages({ limit: 1 })[0]?.createdAtMs ?? session.info().createdAtMs;
}
