import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX } from "../core/limits.ts";
import { type MessageInput, type ParsedMessage, parseMessage } from "../core/message.ts";
import type { ImportEvent } from "./importer.ts";

/** What was parsed while an event was checked. */
const parsedMessages = new WeakMap<MessageInput, ParsedMessage>();

/** Parses the message of an event. One that was checked and is still the same is not parsed again. */
export function parsedOf(message: MessageInput): ParsedMessage {
  return parsedMessages.get(message) ?? parseMessage(message);
}

/** Returns the event of a message, or a warning if the store would refuse the message. */
export function checkedEvent(event: Extract<ImportEvent, { kind: "message" | "restored" }>): ImportEvent {
  const { session, message, line } = event;
  for (const [name, id] of Object.entries({ session, id: message.id ?? "" })) {
    if (id.length > ID_CHARS_MAX) {
      return { kind: "warning", line, reason: `${name}: longer than ${ID_CHARS_MAX} characters` };
    }
  }
  try {
    parsedMessages.set(message, parseMessage(message));
    return event;
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    return { kind: "warning", line, reason: `${error.details.path}: ${error.details.reason}` };
  }
}

const NOT_YET = "not imported yet, because the file may still grow: ";

/** Returns the reason for a warning about a message that must wait because the file is not finished. */
export function notYet(reason: string): string {
  return `${NOT_YET}${reason}`;
}

export function isNotYet({ reason }: { reason: string }): boolean {
  return reason.startsWith(NOT_YET);
}
