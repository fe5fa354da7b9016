import type { AdaptedMessage } from "../adapters/shared/message.ts";
import { StoreError } from "../core/errors.ts";
import type { JsonValue, MessageInput, Part, Role } from "../core/message.ts";
import type { EarlierIds } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { saidOf, stringOf } from "./values.ts";

/** A message that a translator found in a transcript, with the facts that the pipeline needs to order it. */
export interface MessageEntry extends EarlierIds {
  readonly line: number;
  readonly message: EntryMessage;
  /** All messages of one model reply share this object. A message without it is a whole reply. */
  reply?: object;
  /** True for words of the user. They are emitted even while an earlier call has no result. */
  isPrompt?: boolean;
  /** True for a remark that may come between a thought and the message that continues the thought. */
  isAside?: boolean;
  /** Set while a later entry may move or drop the message. `queued` means that the agent has not got the message yet. */
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

/** Returns the object with the fields that count what a reply took, and these fields. */
export function usageIn({ message }: MessageEntry): { holder: JsonObject; fields: JsonObject } {
  const { metadata } = message;
  const holder = isObject(metadata.message) ? metadata.message : metadata;
  const { usage, tokens, cost } = holder;
  return { holder, fields: saidOf({ usage, tokens, cost }) };
}

export function dropUsage(entry: MessageEntry): void {
  const { holder, fields } = usageIn(entry);
  for (const field of Object.keys(fields)) delete holder[field];
}

/** Returns an entry for a tool result. Its id is `<callerId>:<toolCallId>`. */
export function resultEntry(line: number, callerId: string, result: Part, createdAt: number | undefined): MessageEntry {
  return messageEntry(line, "tool", `${callerId}:${result.toolCallId}`, [result], createdAt);
}

/** Returns an entry for each message that has parts. The first one has the id, and the others `<id>/<number>`. */
export function entriesOf(
  said: readonly AdaptedMessage[],
  line: number,
  id: string,
  createdAt: number | undefined,
  about: JsonObject = {},
): MessageEntry[] {
  const filled = said.filter(({ parts }) => parts.length > 0);
  return filled.map(({ role, parts, metadata }, index) =>
    messageEntry(line, role, index === 0 ? id : `${id}/${index}`, parts, createdAt, { ...metadata, ...about }),
  );
}

/** Returns what a part without an id is known by. Arguments may be written in another order. */
export function partKeyOf({ type, text, toolCallId }: Part): JsonValue {
  return [type, stringOf(text as JsonValue) ?? stringOf(toolCallId as JsonValue) ?? null];
}

export function adapted(translate: () => AdaptedMessage[]): AdaptedMessage[] | string {
  try {
    return translate();
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error;
    // The path begins with the adapter's list, as in `contents[0].speaker`.
    return `${error.details.path.replace(/^\w+\[0\]\./, "")}: ${error.details.reason}`;
  }
}
