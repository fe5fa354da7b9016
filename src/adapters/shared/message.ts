import { StoreError } from "../../core/errors.ts";
import type { DataPart, FilePart, Part, PartInput, Role, TextPart, ToolResultPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { type Fields, isName, isObject, type Provider } from "./own.ts";

/** One of our messages: stored, rendered or about to be appended. */
export interface AnyMessage {
  role: Role;
  content?: string | readonly PartInput[];
  parts?: readonly PartInput[];
  name?: string;
  metadata?: Record<string, unknown>;
}

/** A provider's message, converted for `append`. */
export type AdaptedMessage = {
  role: Role;
  parts: Part[];
  name?: string;
  /** Unix milliseconds. */
  createdAt?: number;
  metadata?: Record<string, unknown>;
};

export function partsOf({ content, parts }: AnyMessage): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (parts ?? content ?? []) as readonly Part[];
}

/** A part that any message, and any result, can hold. */
export type ContentPart = TextPart | FilePart | DataPart;

export function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "file" || part.type === "data";
}

/** Keeps a block that we do not know in a `data` part. Its provider gets it back; others get its JSON as text. */
export function foreignBlock(provider: Provider, block: unknown): DataPart {
  return { type: "data", provider, data: block };
}

/** Returns true if a part holds an unknown block of this provider. */
export function isForeignBlock(part: Part, provider: Provider): part is DataPart & { provider: Provider } {
  return part.type === "data" && part.provider === provider;
}

/** Returns the text that replaces a part that a provider does not accept. */
export function standInFor(part: FilePart | DataPart): string {
  return part.type === "file" ? `[file ${describeFile(part)}]` : (JSON.stringify(part.data) ?? "null");
}

/** Returns the text of contents, one line for each. */
export function textOfContents(contents: readonly ContentPart[]): string {
  return contents.map((item) => (item.type === "text" ? item.text : standInFor(item))).join("\n");
}

/** Returns a result as a single value: its string, its only data, or the text of all its contents. */
export function resultValue({ content }: Pick<ToolResultPart, "content">): unknown {
  if (typeof content === "string") return content;
  const [only] = content;
  return content.length === 1 && only!.type === "data" ? only!.data : textOfContents(content);
}

/** Returns a call's arguments as an object, for providers that accept nothing else. */
export function argsObject(args: unknown): Fields {
  if (args === undefined || args === null) return {};
  return isObject(args) ? args : { input: args };
}

/**
 * Remembers the tool names of calls, because some providers want the name beside a result. Ids may repeat, so `learn` must
 * see the messages in order: a call counts until the next one with its id.
 */
export class CallNames {
  readonly #names = new Map<string, string>();

  learn(parts: readonly Part[]): void {
    for (const part of parts) if (part.type === "tool_call") this.#names.set(part.toolCallId, part.name);
  }

  /** Returns the result's own name, else its call's, else `unknown`. */
  nameFor(part: { toolCallId: string; name?: string | undefined }): string {
    return isName(part.name) ? part.name : (this.#names.get(part.toolCallId) ?? "unknown");
  }
}

/** @throws {StoreError} `MESSAGE_INVALID`, because the input is not a message of the provider. */
export function refuse(path: string, reason: string): never {
  throw new StoreError("MESSAGE_INVALID", { path, reason });
}
