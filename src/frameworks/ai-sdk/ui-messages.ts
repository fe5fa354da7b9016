import { isDeepStrictEqual } from "node:util";
import type { UIMessage } from "ai";
import { fromUiMessages, toUiMessages } from "../../adapters/ai-sdk.ts";
import { refuse } from "../../adapters/shared/message.ts";
import type { Message, MessageInput } from "../../core/message.ts";

/** Metadata of a message of the session: the whole UI message, if its translation does not give it back. */
const WHOLE = "aiSdkChat";

export interface StoredUiMessage {
  message: UIMessage;
  heldBy: readonly Message[];
}

/** Returns the JSON of each message. @throws {StoreError} `MESSAGE_INVALID` for what JSON cannot hold, and for a message without an id. */
export function jsonOf(messages: readonly UIMessage[]): string[] {
  return messages.map((message, index) => {
    const path = `messages[${index}]`;
    if (typeof message?.id !== "string") refuse(`${path}.id`, "it is not a string");
    try {
      const text: string | undefined = JSON.stringify(message);
      if (text !== undefined) return text;
    } catch {
      // A cycle or a big number. It is refused below.
    }
    return refuse(path, "JSON cannot hold it");
  });
}

/** Converts a UI message to messages of a session: one for each step, and one for its results. */
export function heldFormOf(message: UIMessage): MessageInput[] {
  const held = fromUiMessages(message) as MessageInput[];
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(toUiMessages(held))), [message])) return held;
  const [first, ...rest] = held;
  return [{ ...first!, metadata: { ...first!.metadata, [WHOLE]: message } } as MessageInput, ...rest];
}

/** Returns the UI messages that messages of a session hold. Those that no chat has saved get an id from their place. */
export function uiMessagesIn(messages: readonly Message[]): StoredUiMessage[] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last === undefined || beginsUiMessage(message, last[0]!)) groups.push([message]);
    else last.push(message);
  }
  return groups.map((heldBy) => ({ message: uiMessageOf(heldBy), heldBy }));
}

function beginsUiMessage({ role, metadata }: Message, first: Message): boolean {
  if (role === "tool") return false;
  return role !== "assistant" || first.role === "user" || first.role === "system" || idIn(metadata) !== undefined;
}

function uiMessageOf(heldBy: readonly Message[]): UIMessage {
  const [{ seq, metadata }] = heldBy as [Message];
  const whole = metadata?.[WHOLE];
  if (whole !== undefined) return whole as unknown as UIMessage;
  // Results whose call is not on the path stand in a message of their own.
  const [message = { role: "assistant", parts: [] }] = toUiMessages(heldBy);
  return { ...message, id: idIn(metadata) ?? `message-${seq}` } as UIMessage;
}

function idIn(metadata: Message["metadata"]): string | undefined {
  const id = (metadata?.aiSdkUi as { id?: unknown } | undefined)?.id;
  return typeof id === "string" ? id : undefined;
}

/** Returns the index of the first message of the session that does not hold what it should; the length if all do. */
export function firstDifference(heldBy: readonly Message[], held: readonly MessageInput[]): number {
  const index = heldBy.findIndex((message, at) => !holds(message, held[at]));
  return index === -1 ? heldBy.length : index;
}

export function holds({ role, parts, metadata }: Message, input: MessageInput | undefined): boolean {
  if (input === undefined) return false;
  const form = { role: input.role, parts: input.parts, metadata: input.metadata ?? {} };
  return isDeepStrictEqual({ role, parts, metadata: metadata ?? {} }, JSON.parse(JSON.stringify(form)));
}
