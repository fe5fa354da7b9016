import { hash } from "node:crypto";
import { StoreError } from "../../core/errors.ts";
import { ID_CHARS_MAX } from "../../core/limits.ts";
import type { Session } from "../../session/session.ts";
import { idOfChanged, type RecallableMessage } from "./messages.ts";

/** Every thread has a session: its messages can be recalled, and `forget` deletes everything that the thread stored. */
export function sessionIdOf(threadId: string): string {
  const id = `langgraph:${threadId}`;
  const isLegal = id.length <= ID_CHARS_MAX && id.isWellFormed() && !/\p{Cc}/u.test(id);
  return isLegal ? id : `langgraph:${hash("sha256", threadId, "hex")}`;
}

/** Appends the messages that the session does not have. One that was changed is appended as another. */
export function appendRecallable(session: Session, messages: readonly RecallableMessage[]): void {
  try {
    session.append(messages);
  } catch (error) {
    if (messages.length === 1) appendAlone(session, messages[0]!, error);
    else for (const message of messages) appendRecallable(session, [message]);
  }
}

function appendAlone(session: Session, message: RecallableMessage, error: unknown): void {
  if (StoreError.is(error, "MESSAGE_CONFLICT")) session.append({ ...message, id: idOfChanged(message) });
  // The checkpoint has it. What cannot be a message cannot be recalled.
  else if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
}
