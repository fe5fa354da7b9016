import { extractArtifacts } from "../core/artifacts.ts";
import type { Clock } from "../core/clock.ts";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { ParsedMessage } from "../core/message.ts";
import { ignoreRejection, wholeNumber } from "../core/options.ts";
import { textOf } from "../core/text.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { type Embedder, isRemote, type LocalEmbedder } from "../models/embedder.ts";
import type { MessageRow } from "../store/index.ts";
import { isUsable } from "../vector/vector.ts";

export interface PrepareOptions {
  embedder: Embedder;
  tokenCounter: TokenCounter;
  clock: Clock;
}

/** Computes everything that depends on the message alone, before any transaction. */
export function prepareMessage(message: ParsedMessage, { embedder, tokenCounter, clock }: PrepareOptions): MessageRow {
  const { partsJson, artifacts } = extractArtifacts(message.parts);
  const text = textOf(message.parts);
  const isDue = isRemote(embedder) && text.trim() !== "";
  const embedding = text === "" || isRemote(embedder) ? undefined : embeddingOf(embedder, text);
  const tokenCount = messageTokens(message, tokenCounter);
  return {
    role: message.role,
    name: message.name,
    parts: message.parts,
    pinned: message.pinned,
    partsJson,
    artifacts,
    text,
    tokenCount: wholeNumber(`a count of ${tokenCounter.name}`, tokenCount, 0, Number.MAX_SAFE_INTEGER),
    tokenCounter: tokenCounter.name,
    createdAtMs: message.createdAtMs ?? clock(),
    metadata: message.metadata,
    externalId: message.externalId,
    digest: digestOf(message),
    embedding,
    embedderId: embedding === undefined ? undefined : embedder.id,
    vectorDueSinceMs: isDue ? clock() : undefined,
  };
}

/** @throws {StoreError} `VECTOR_INVALID` for a vector that would spoil the centroid of its cluster. */
export function checkedVector(vector: Float32Array, dimension: number): Float32Array {
  if (vector instanceof Float32Array && vector.length === dimension && isUsable(vector)) return vector;
  ignoreRejection(vector);
  const actual = (vector as Float32Array | null)?.length ?? 0;
  const reason = actual === dimension ? "it is zero, not finite, or not a Float32Array" : "it has another dimension";
  throw new StoreError("VECTOR_INVALID", { reason, expected: dimension, actual });
}

function embeddingOf(embedder: LocalEmbedder, text: string): Float32Array | undefined {
  const vector = embedder.embed(text);
  return vector === undefined ? undefined : checkedVector(vector, embedder.dimension);
}
