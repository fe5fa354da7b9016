import { StoreError } from "../../core/errors.ts";
import { isUsable, normalize } from "../../vector/vector.ts";

/**
 * The vectors of a reply, brought to unit length: cut to fewer dimensions, those of `gemini-embedding-001` have another. The
 * same reply gives the same bits.
 *
 * @param response  What the SDK gives for it, of any shape.
 * @param count  Texts that were sent.
 * @throws {StoreError} `MODEL_ANSWER_INVALID` for another number of vectors, another dimension, and what has no direction.
 */
export function replyVectors(response: unknown, count: number, dimension: number, model: string): Float32Array[] {
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  const { embeddings } = (response ?? {}) as { embeddings?: unknown };
  if (!Array.isArray(embeddings)) throw invalid("it has no vectors");
  if (embeddings.length !== count) throw invalid(`it has ${embeddings.length} vectors for ${count} texts`);
  return embeddings.map((embedding: { values?: unknown } | null, index) => {
    const values = embedding?.values;
    if (!Array.isArray(values)) throw invalid(`embeddings.${index}: it has no numbers`);
    if (values.length !== dimension)
      throw invalid(`embeddings.${index}: it has ${values.length} numbers, not ${dimension}`);
    if (!values.every((value) => typeof value === "number")) throw invalid(`embeddings.${index}: not all are numbers`);
    const vector = new Float32Array(values as number[]);
    if (!isUsable(vector)) throw invalid(`embeddings.${index}: it has no direction`);
    return normalize(vector);
  });
}
