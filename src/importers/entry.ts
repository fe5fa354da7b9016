import type { MessageInput, Part, Role } from "../core/message.ts";
import { derivedId } from "./derived-id.ts";
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

/** Returns an entry. `id` is its name, or any values that are the same each time the file is read. */
export function messageEntry(
  line: number,
  role: Role,
  id: string | readonly unknown[],
  parts: Part[],
  about: { createdAt?: number | undefined; metadata?: JsonObject } = {},
): MessageEntry {
  const { createdAt, metadata = {} } = about;
  const message: EntryMessage = { id: typeof id === "string" ? id : derivedId(...id), role, parts, metadata };
  if (createdAt !== undefined) message.createdAt = createdAt;
  return { line, message };
}

/** Returns an entry for a tool result, named after the message that called the tool. */
export function resultEntry(line: number, callerId: string, result: Part, createdAt: number | undefined): MessageEntry {
  return messageEntry(line, "tool", `${callerId}:${result.toolCallId}`, [result], { createdAt });
}
