import { systemClock } from "../core/clock.ts";
import type { Message, MessageInput, ParsedMessage, Part } from "../core/message.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import type { TextWithWords } from "../ingest/index-texts.ts";
import { type PrepareOptions, prepareMessage } from "../ingest/prepare.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { searchWords } from "../models/search-words.ts";
import type { MessageRow } from "../store/index.ts";

/** A message as the store keeps it, without its seq. If another thread prepared it, it brings the words of its text. */
export type PreparedMessage = MessageRow & TextWithWords;

/** A prepared message on its way between threads. `parts` is left out if `partsJson`, which is copied faster, is enough. */
export type PostedMessage = Omit<PreparedMessage, "parts"> & { parts: Part[] | undefined };

const USUAL: PrepareOptions = {
  embedder: hashingEmbedder,
  tokenCounter: estimatingTokenCounter,
  clock: systemClock,
};

/** Returns true if a store with these ports would prepare a message exactly like `prepareApart`. */
export function isUsual({ embedder, tokenCounter, clock }: PrepareOptions): boolean {
  return embedder === USUAL.embedder && tokenCounter === USUAL.tokenCounter && clock === USUAL.clock;
}

export function prepareApart(message: ParsedMessage): PreparedMessage {
  const prepared = prepareMessage(message, USUAL);
  return { ...prepared, searchWords: searchWords(prepared.text).join(" ") };
}

export function posted(prepared: PreparedMessage): PostedMessage {
  return prepared.artifacts.length > 0 ? prepared : { ...prepared, parts: undefined };
}

/** Restores a message from another thread. A Buffer arrives as a plain array of bytes, and becomes a Buffer again. */
export function revived(prepared: PostedMessage): PreparedMessage {
  return {
    ...prepared,
    parts: prepared.parts ?? JSON.parse(prepared.partsJson),
    digest: bufferOf(prepared.digest),
    artifacts: prepared.artifacts.map((artifact) => ({ ...artifact, content: bufferOf(artifact.content) })),
  };
}

/** Returns what to append, so that a message is stored as it is. */
export function inputOf(
  prepared: Pick<Message, "role" | "parts" | "createdAtMs" | "pinned"> &
    Partial<Pick<PreparedMessage, "name" | "externalId" | "metadata">>,
): MessageInput {
  const { role, parts, name, externalId, createdAtMs: createdAt, pinned, metadata } = prepared;
  return {
    ...{ role, parts, createdAt, pinned },
    ...(name !== undefined && { name }),
    ...(externalId !== undefined && { id: externalId }),
    ...(metadata !== undefined && { metadata }),
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
