import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import type { Session } from "../session.ts";

/** Yields the messages of a session in order, however many there are. `session.messages()` alone gives at most 10,000. */
export function* everyMessage(
  session: Pick<Session, "messages">,
  { seqFrom = 0, seqTo = Number.MAX_SAFE_INTEGER }: { seqFrom?: number; seqTo?: number } = {},
): Generator<Message> {
  for (let next = seqFrom; next <= seqTo; ) {
    const page = session.messages({ seqFrom: next, seqTo });
    yield* page;
    if (page.length < PAGE_LIMIT_MAX) return;
    next = page.at(-1)!.seq + 1;
  }
}

/** The time of a session's first message. An imported session was created later, and one without messages has only the time of its creation. */
export function beganAtMs(session: Session): number {
  return session.messages({ limit: 1 })[0]?.createdAtMs ?? session.info().createdAtMs;
}
