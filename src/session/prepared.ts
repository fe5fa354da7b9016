import { systemClock } from "../core/clock.ts";
import { type MessageInput, parseMessage } from "../core/message.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { type PrepareOptions, prepareMessage } from "../ingest/prepare.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { MessageRow } from "../store/messages.ts";

/** A message with all that a store keeps of it but its place: plain data, which may come from another thread. */
export type PreparedMessage = MessageRow;

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

/** What came from another thread, where a Buffer has become an array of bytes. */
export function revived(prepared: PreparedMessage): PreparedMessage {
  return {
    ...prepared,
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
