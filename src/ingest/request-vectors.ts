import { StoreError } from "../core/errors.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { RemoteEmbedder } from "../models/embedder.ts";
import type { OnUsage } from "../models/summarizer.ts";
import { checkedVector } from "./prepare.ts";

export const CALL_MS_MAX = 180_000;

/**
 * Requests a vector for each text, and checks the vectors. `onSend` is called before each request that is paid for.
 *
 * @throws the signal's reason once it is aborted; an error of the embedder; {StoreError} `MODEL_UNAVAILABLE` after
 * `CALL_MS_MAX`, `MODEL_ANSWER_INVALID`, `VECTOR_INVALID`.
 */
export async function requestVectors(
  embedder: RemoteEmbedder,
  texts: readonly string[],
  signal: AbortSignal,
  onUsage: OnUsage | undefined,
  onSend: () => void = () => {},
): Promise<Float32Array[]> {
  const model = embedder.id;
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new StoreError("MODEL_UNAVAILABLE", { model, reason: `nothing came within ${CALL_MS_MAX} ms` }));
  }, CALL_MS_MAX);
  try {
    const ended = AbortSignal.any([signal, late.signal]);
    const request = { texts, task: "document" as const, signal: ended, onSend, ...(onUsage && { onUsage }) };
    onSend(); // embedders of callers may not call it
    const vectors = await untilAborted((async () => embedder.embedAll(request))(), ended);
    if (!Array.isArray(vectors) || vectors.length !== texts.length) {
      const reason = `it has ${vectors?.length} vectors for ${texts.length} texts`;
      throw new StoreError("MODEL_ANSWER_INVALID", { model, reason });
    }
    return vectors.map((vector) => checkedVector(vector, embedder.dimension));
  } finally {
    clearTimeout(timer);
  }
}
