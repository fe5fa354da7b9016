import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX } from "../core/limits.ts";
import { type MessageInput, parseMessage } from "../core/message.ts";
import type { ImportEvent, ImportedMessage } from "./importer.ts";

/** The event for a message read at `line`: the message, or a warning where the store would refuse it. */
export function messageEvent(session: string, message: ImportedMessage, line: number): ImportEvent {
  return refusalOf(session, message, line) ?? { kind: "message", session, message, line };
}

/** The same for a message of another store, at its place there. */
export function restoredEvent(session: string, seq: number, message: MessageInput, line: number): ImportEvent {
  return refusalOf(session, message, line) ?? { kind: "restored", session, seq, message, line };
}

/** The warning for a message at the end of a file that may go on, whose place or rest is not there yet. */
export function notYet(line: number, reason: string): ImportEvent {
  return { kind: "warning", line, reason: `not imported yet, as the file may go on: ${reason}` };
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
