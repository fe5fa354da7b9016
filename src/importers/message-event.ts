import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX } from "../core/limits.ts";
import { parseMessage } from "../core/message.ts";
import type { ImportEvent } from "./importer.ts";

/** Returns the event of a message, or a warning if the store would refuse the message. */
export function checkedEvent(event: Extract<ImportEvent, { kind: "message" | "restored" }>): ImportEvent {
  const { session, message, line } = event;
  for (const [name, id] of Object.entries({ session, id: message.id ?? "" })) {
    if (id.length > ID_CHARS_MAX) {
      return { kind: "warning", line, reason: `${name}: longer than ${ID_CHARS_MAX} characters` };
    }
  }
  try {
    parseMessage(message);
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

export function isNotYet(event: ImportEvent): boolean {
  return event.kind === "warning" && event.reason.startsWith(NOT_YET);
}
