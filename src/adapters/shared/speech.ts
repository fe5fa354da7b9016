import { StoreError } from "../../core/errors.ts";
import type { DataPart, FilePart, Part, PartInput, Role, TextPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { type Fields, isName, isObject, type Provider } from "./own.ts";

/** A message of ours, whether stored, rendered or about to be appended. */
export interface Speech {
  role: Role;
  content?: string | readonly PartInput[];
  parts?: readonly PartInput[];
  name?: string;
  metadata?: Record<string, unknown>;
}

/** A message of a provider's as one of ours, to be appended. */
export type AdaptedMessage = {
  role: Role;
  parts: Part[];
  name?: string;
  /** Unix milliseconds. */
  createdAt?: number;
  metadata?: Record<string, unknown>;
};

export function partsOf({ content, parts }: Speech): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (parts ?? content ?? []) as readonly Part[];
}

/** What any message can hold, and a result. */
export type ContentPart = TextPart | FilePart | DataPart;

export function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "file" || part.type === "data";
}

/** A provider's block of a kind that we have no part for, whole. It goes back to that provider; others get its JSON. */
export function foreignBlock(provider: Provider, block: unknown): DataPart {
  return { type: "data", provider, data: block };
}

/** Whether that is what a part holds, and it is this provider's. */
export function isForeignBlock(part: Part, provider: Provider): part is DataPart & { provider: Provider } {
  return part.type === "data" && part.provider === provider;
}

/** The words that stand for a part where a provider has no place for it. */
export function standInFor(part: FilePart | DataPart): string {
  return part.type === "file" ? `[file ${describeFile(part)}]` : (JSON.stringify(part.data) ?? "null");
}

/** Arguments for a provider that takes nothing but an object. */
export function argsObject(args: unknown): Fields {
  if (args === undefined || args === null) return {};
  return isObject(args) ? args : { input: args };
}

/**
 * Names of the tools, by the id of their calls: some providers want them beside a result. Ids repeat from step to step,
 * so a call counts from where it stands until the next of its id: call `learn` on each message, in order.
 */
export class CallNames {
  readonly #names = new Map<string, string>();

  learn(parts: readonly Part[]): void {
    for (const part of parts) if (part.type === "tool_call") this.#names.set(part.toolCallId, part.name);
  }

  /** What the result says itself comes first; `unknown` where nobody knows. */
  nameFor(part: { toolCallId: string; name?: string | undefined }): string {
    return isName(part.name) ? part.name : (this.#names.get(part.toolCallId) ?? "unknown");
  }
}

/** @throws {StoreError} `MESSAGE_INVALID`: what came is no message of the provider. */
export function refuse(path: string, reason: string): never {
  throw new StoreError("MESSAGE_INVALID", { path, reason });
}
