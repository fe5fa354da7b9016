import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX } from "../core/limits.ts";
import { type MessageInput, parseMessage } from "../core/message.ts";
import type { ImportEvent, ImportedMessage } from "./importer.ts";

/** Returns the event for a message, or a warning if the store would refuse the message. */
export function messageEvent(session: string, message: ImportedMessage, line: number): ImportEvent {
  return refusalOf(session, message, line) ?? { kind: "message", session, message, line };
}

/** Returns the event for a message that another store exported, or a warning if the store would refuse it. */
export function restoredEvent(session: string, seq: number, message: MessageInput, line: number): ImportEvent {
  return refusalOf(session, message, line) ?? { kind: "restored", session, seq, message, line };
}

/** Returns the reason for a warning about a message that must wait because the file is not finished. */
export function notYet(reason: string): string {
  return `not imported yet, because the file may still grow: ${reason}`;
}

function refusalOf(session: string, message: MessageInput, line: number): ImportEvent | undefined {
  for (const [name, id] of Object.entries({ session, id: message.id ?? "" })) {
    if (id.length > ID_CHARS_MAX)
      return { kind: "warning", line, reason: `${name}: longer than ${ID_CHARS_MAX} characters` };
  }
  try {
    parseMessage(message);
    return undefined;
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    return { kind: "warning", line, reason: `${error.details.path}: ${error.details.reason}` };
  }
}
