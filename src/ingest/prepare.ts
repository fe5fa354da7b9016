import type { Clock } from "../core/clock.ts";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { ParsedMessage } from "../core/message.ts";
import { wholeNumber } from "../core/options.ts";
import { textOf } from "../core/text.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { extractArtifacts } from "../store/artifacts.ts";
import type { MessageRow } from "../store/messages.ts";
import { isUsable } from "../vector/vector.ts";

export interface PrepareOptions {
  embedder: Embedder;
  tokenCounter: TokenCounter;
  clock: Clock;
}

/** All that can be worked out of a message alone, before any transaction. */
export function prepareMessage(message: ParsedMessage, { embedder, tokenCounter, clock }: PrepareOptions): MessageRow {
  const { partsJson, artifacts } = extractArtifacts(message.parts);
  const text = textOf(message.parts);
  const embedding =
    text === "" || isRemote(embedder) ? undefined : checkedVector(embedder.embed(text), embedder.dimension);
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
  };
}

/** @throws {StoreError} `VECTOR_INVALID` for what would poison every centroid it is added to. */
function checkedVector(vector: Float32Array | undefined, dimension: number): Float32Array | undefined {
  if (vector === undefined) return undefined;
  if (vector instanceof Float32Array && vector.length === dimension && isUsable(vector)) return vector;
  const reason =
    vector.length === dimension ? "it is zero, not finite, or no Float32Array" : "it has another dimension";
  throw new StoreError("VECTOR_INVALID", { reason, expected: dimension, actual: vector.length });
}
