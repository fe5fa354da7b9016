import type { AdaptedMessage } from "../adapters/shared/message.ts";
import { StoreError } from "../core/errors.ts";
import type { MessageInput, Part, Role } from "../core/message.ts";
import type { JsonObject } from "./lines.ts";

/** A message that a translator found in a transcript, with the facts that the pipeline needs to order it. */
export interface MessageEntry {
  /** The line on which the message begins. */
  readonly line: number;
  readonly message: EntryMessage;
  /** One object that all messages of a reply of the model share. Without it, the message is a reply of its own. */
  reply?: object;
  /** True for the user's own words. They are emitted even if an earlier call has no result yet. */
  isPrompt?: boolean;
  /** True for a remark that may be between a thought and the message that continues it. */
  isAside?: boolean;
  /** Set while a later entry may move or drop the message. A `queued` one has not been handed to the agent yet. */
  hold?: "queued" | "handed-over";
}

interface EntryMessage extends MessageInput {
  id: string;
  parts: Part[];
  metadata: JsonObject;
}

export function messageEntry(
  line: number,
  role: Role,
  id: string,
  parts: Part[],
  createdAt: number | undefined,
  metadata: Record<string, unknown> = {},
): MessageEntry {
  const message = { id, role, parts, metadata: { ...(metadata as JsonObject) } };
  return { line, message: createdAt === undefined ? message : { ...message, createdAt } };
}

/** Returns an entry for a tool result, named after the message that called the tool. */
export function resultEntry(line: number, callerId: string, result: Part, createdAt: number | undefined): MessageEntry {
  return messageEntry(line, "tool", `${callerId}:${result.toolCallId}`, [result], createdAt);
}

/** Returns the messages that an adapter makes, or the reason why it refuses. */
export function adapted(translate: () => AdaptedMessage[]): AdaptedMessage[] | string {
  try {
    return translate();
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    // The adapter got a list of one, and names `contents[0].speaker`.
    return `${error.details.path.replace(/^\w+\[0\]\./, "")}: ${error.details.reason}`;
  }
}
