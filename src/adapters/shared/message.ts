import { StoreError } from "../../core/errors.ts";
import type { DataPart, FilePart, Part, PartInput, Role, TextPart, ToolResultPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { type Fields, isName, isObject, keep, type Provider } from "./own.ts";

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

/** A part that every message and every result can hold. */
export type ContentPart = TextPart | FilePart | DataPart;

export function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "file" || part.type === "data";
}

/** Converts a provider's block, or returns undefined if it is not of the kind that this reader knows. */
export type Reader<P extends Part> = (block: Fields) => P | undefined;

/** Converts a block by the first reader that knows it. An unknown block is kept whole in a `data` part. */
export function readBlock<P extends Part>(provider: Provider, block: unknown, readers: Reader<P>[]): P | DataPart {
  if (isObject(block)) {
    for (const read of readers) {
      const part = read(block);
      if (part !== undefined) return part;
    }
  }
  return { type: "data", provider, data: block };
}

export function textReader(provider: Provider): Reader<TextPart> {
  return ({ type, text, ...fields }) =>
    type === "text" && typeof text === "string" ? { type, text, ...keep(provider, fields) } : undefined;
}

/** Returns true for a part that keeps a block of this provider whole. */
export function isUnknownBlock(part: Part, provider: Provider): part is DataPart & { provider: Provider } {
  return part.type === "data" && part.provider === provider;
}

/** Splits parts into messages: runs of results, and runs of other parts. Without parts, there is one empty message. */
export function splitByRole(parts: readonly Part[], roleIfEmpty: "tool" | "user"): AdaptedMessage[] {
  const runs: AdaptedMessage[] = [];
  for (const part of parts) {
    const role = part.type === "tool_result" ? "tool" : "user";
    const last = runs.at(-1);
    if (last?.role === role) last.parts.push(part);
    else runs.push({ role, parts: [part] });
  }
  return runs.length > 0 ? runs : [{ role: roleIfEmpty, parts: [] }];
}

export function hasContent({ data, url }: FilePart): boolean {
  return (data ?? url) !== undefined;
}

export function standInFor(part: FilePart | DataPart): string {
  return part.type === "file" ? `[file ${describeFile(part)}]` : (JSON.stringify(part.data) ?? "null");
}

export function textOfContents(contents: readonly ContentPart[]): string {
  return contents.map((item) => (item.type === "text" ? item.text : standInFor(item))).join("\n");
}

/** Returns a result as a single value: its string, its only data, or the text of all its contents. */
export function resultValue({ content }: ToolResultPart): unknown {
  if (typeof content === "string") return content;
  const [only] = content;
  return content.length === 1 && only!.type === "data" ? only!.data : textOfContents(content);
}

/** Returns the arguments for a provider that accepts only an object. */
export function argsObject(args: unknown): Fields {
  if (args === undefined || args === null) return {};
  return isObject(args) ? args : { input: args };
}

/** Returns true for a single text without provider fields. It is sent as a string, unless it came in a list. */
export function isPlainText(parts: readonly Part[], provider: Provider): boolean {
  const [only] = parts;
  return parts.length === 1 && only!.type === "text" && !(provider in only!);
}

/** Returns a string for a single plain text, unless `isList`. */
export function textOrList(blocks: readonly unknown[], isList: boolean): unknown {
  const [only] = blocks;
  const isText = blocks.length === 1 && isObject(only) && only.type === "text" && Object.keys(only).length === 2;
  return isText && !isList ? only.text : blocks;
}

/** The tool names of calls, by id. Ids may repeat, so `learn` must see the messages in order. */
export class CallNames {
  readonly #names = new Map<string, string>();

  learn(parts: readonly Part[]): void {
    for (const part of parts) if (part.type === "tool_call") this.#names.set(part.toolCallId, part.name);
  }

  /** Returns the result's own name, else its call's, else `unknown`. */
  nameFor(part: ToolResultPart): string {
    return isName(part.name) ? part.name : (this.#names.get(part.toolCallId) ?? "unknown");
  }
}

export function refuse(path: string, reason: string): never {
  throw new StoreError("MESSAGE_INVALID", { path, reason });
}
