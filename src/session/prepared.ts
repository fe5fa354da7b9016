import { systemClock } from "../core/clock.ts";
import { type MessageInput, type Part, parseMessage } from "../core/message.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { type PrepareOptions, prepareMessage } from "../ingest/prepare.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { MessageRow } from "../store/messages.ts";

/** A message with all that a store keeps of it but its place. */
export type PreparedMessage = MessageRow;

/** The same on its way between threads: `parts` are left out where `partsJson` says all of them, which is copied faster. */
export type PostedMessage = Omit<PreparedMessage, "parts"> & { parts: Part[] | undefined };

/** What a store works with unless it is told otherwise. */
const USUAL: PrepareOptions = {
  embedder: hashingEmbedder,
  tokenCounter: estimatingTokenCounter,
  clock: systemClock,
};

/** Whether what `prepareApart` makes is what a store with these would make. */
export function isUsual({ embedder, tokenCounter, clock }: PrepareOptions): boolean {
  return embedder === USUAL.embedder && tokenCounter === USUAL.tokenCounter && clock === USUAL.clock;
}

/**
 * Work out apart from any store what appending a message to one takes.
 *
 * @throws {StoreError} `MESSAGE_INVALID`.
 */
export function prepareApart(message: MessageInput): PreparedMessage {
  return prepareMessage(parseMessage(message), USUAL);
}

/** What is handed to another thread. */
export function posted(prepared: PreparedMessage): PostedMessage {
  return prepared.artifacts.length > 0 ? prepared : { ...prepared, parts: undefined };
}

/** What came from another thread, where a Buffer has become an array of bytes. */
export function revived(prepared: PostedMessage): PreparedMessage {
  return {
    ...prepared,
    parts: prepared.parts ?? JSON.parse(prepared.partsJson),
    digest: bufferOf(prepared.digest),
    artifacts: prepared.artifacts.map((artifact) => ({ ...artifact, content: bufferOf(artifact.content) })),
  };
}

/** The message that it was made of, as it would be appended. */
export function inputOf({
  role,
  parts,
  name,
  externalId,
  createdAtMs,
  pinned,
  metadata,
}: PreparedMessage): MessageInput {
  return {
    role,
    parts,
    createdAt: createdAtMs,
    pinned,
    ...(name !== undefined && { name }),
    ...(externalId !== undefined && { id: externalId }),
    ...(metadata !== undefined && { metadata }),
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
