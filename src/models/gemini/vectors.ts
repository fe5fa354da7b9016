import { StoreError } from "../../core/errors.ts";
import { isUsable, normalize } from "../../vector/vector.ts";

/**
 * Returns the vectors of a reply, normalized because shortened vectors of `gemini-embedding-001` are not. Equal replies give
 * equal bits.
 *
 * @param response  The SDK's response, of any shape.
 * @param count  The number of texts that were sent.
 * @throws {StoreError} `MODEL_ANSWER_INVALID` for a wrong number of vectors, a wrong dimension, or a zero vector.
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
