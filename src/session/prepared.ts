import { systemClock } from "../core/clock.ts";
import { type MessageInput, type Part, parseMessage } from "../core/message.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { type PrepareOptions, prepareMessage } from "../ingest/prepare.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { MessageRow } from "../store/messages.ts";

/** A message with all the values that a store keeps of it except its seq. */
export type PreparedMessage = MessageRow;

/** A prepared message on its way between threads. `parts` are left out if `partsJson`, which is copied faster, has all of them. */
export type PostedMessage = Omit<PreparedMessage, "parts"> & { parts: Part[] | undefined };

/** The defaults of a store. */
const USUAL: PrepareOptions = {
  embedder: hashingEmbedder,
  tokenCounter: estimatingTokenCounter,
  clock: systemClock,
};

/** Returns true if `prepareApart` has the same results as a store with these ports. */
export function isUsual({ embedder, tokenCounter, clock }: PrepareOptions): boolean {
  return embedder === USUAL.embedder && tokenCounter === USUAL.tokenCounter && clock === USUAL.clock;
}

/**
 * Prepares a message for appending without a store: parses it, counts its tokens and makes its vector.
 *
 * @throws {StoreError} `MESSAGE_INVALID`.
 */
export function prepareApart(message: MessageInput): PreparedMessage {
  return prepareMessage(parseMessage(message), USUAL);
}

/** Returns the form of a message that is sent to another thread. */
export function posted(prepared: PreparedMessage): PostedMessage {
  return prepared.artifacts.length > 0 ? prepared : { ...prepared, parts: undefined };
}

/** Restores a message from another thread. On the way, each Buffer became a plain array of bytes. */
export function revived(prepared: PostedMessage): PreparedMessage {
  return {
    ...prepared,
    parts: prepared.parts ?? JSON.parse(prepared.partsJson),
    digest: bufferOf(prepared.digest),
    artifacts: prepared.artifacts.map((artifact) => ({ ...artifact, content: bufferOf(artifact.content) })),
  };
}

/** Converts a prepared message back into the input of `append`. */
export function inputOf(prepared: PreparedMessage): MessageInput {
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
