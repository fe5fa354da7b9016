import { StoreError } from "../core/errors.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { idAt, placeCountOf, type Repositories } from "../store/index.ts";
import { dot } from "../vector/vector.ts";
import { requestVectors } from "./request-vectors.ts";

/** The messages that are compared with each other. It takes half a second, and the time of the embedder. */
const MESSAGES = 500;

/** Fewer messages say nothing. */
const MESSAGES_MIN = 50;

/**
 * Measures from which cosine on messages should join, on messages of the store. The default embedder's threshold was calibrated on
 * conversations. The measured threshold lets as many pairs of messages join, so that clusters have about the same sizes.
 *
 * @returns a cosine; null for the default embedder, if the store has too few messages, if no pair would join, if the texts would leave the machine, or if
 *   the embedder does not answer.
 */
export async function measuredSimilarity(
  { database, evidence }: Repositories,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<number | null> {
  if (embedder.id === hashingEmbedder.id || (isRemote(embedder) && embedder.sentTo !== undefined)) return null;
  const texts = database.read(() => {
    const ranges = evidence.idRanges();
    const count = placeCountOf(ranges);
    const step = Math.max(1, count / (2 * MESSAGES));
    const places = Array.from({ length: Math.min(count, 2 * MESSAGES) }, (_, index) => Math.floor(index * step));
    const ids = places.map((place) => idAt(ranges, place));
    return [...evidence.textsOf(ids).values()].filter((text) => hashingEmbedder.embed(text) !== undefined);
  });
  const stride = Math.max(1, texts.length / MESSAGES);
  const sample = Array.from(
    { length: Math.min(texts.length, MESSAGES) },
    (_, index) => texts[Math.floor(index * stride)]!,
  );
  if (sample.length < MESSAGES_MIN) return null;
  const vectors = await vectorsOf(embedder, sample, signal).catch((error: unknown) => {
    if (StoreError.is(error) && error.code.startsWith("MODEL_")) return [];
    throw error;
  });
  const known = sample.map((text) => hashingEmbedder.embed(text)!);
  const joining = cosines(known).filter((cosine) => cosine >= hashingEmbedder.similarityMin).length;
  const measured = cosines(vectors).sort();
  return joining === 0 ? null : (measured[Math.max(0, measured.length - joining)] ?? null);
}

async function vectorsOf(embedder: Embedder, texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
  if (!isRemote(embedder)) return texts.flatMap((text) => embedder.embed(text) ?? []);
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += embedder.textsMax) {
    const batch = texts.slice(from, from + embedder.textsMax);
    vectors.push(...(await requestVectors(embedder, batch, signal, undefined)));
  }
  return vectors;
}

function cosines(vectors: readonly Float32Array[]): Float64Array {
  const found = new Float64Array((vectors.length * (vectors.length - 1)) / 2);
  let count = 0;
  for (const [index, vector] of vectors.entries()) {
    for (let other = 0; other < index; other++) found[count++] = dot(vector, vectors[other]!);
  }
  return found;
}
