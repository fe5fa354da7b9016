import { StoreError } from "../core/errors.ts";
import { isUsable, normalize } from "../vector/vector.ts";

/**
 * Returns the vectors of a model's reply, with unit length.
 *
 * @param values  The reply's entry for each text; undefined if the reply has no list of vectors.
 * @throws {StoreError} `MODEL_ANSWER_INVALID` unless there is a usable vector of this dimension for each text.
 */
export function unitVectors(
  values: readonly unknown[] | undefined,
  count: number,
  dimension: number,
  model: string,
): Float32Array[] {
  const invalid = (reason: string) => new StoreError("MODEL_ANSWER_INVALID", { model, reason });
  if (values === undefined) throw invalid("it has no vectors");
  if (values.length !== count) throw invalid(`it has ${values.length} vectors for ${count} texts`);
  return values.map((numbers, index) => {
    if (!Array.isArray(numbers)) throw invalid(`embeddings.${index}: it has no numbers`);
    if (numbers.length !== dimension)
      throw invalid(`embeddings.${index}: it has ${numbers.length} numbers, not ${dimension}`);
    if (!numbers.every((value) => typeof value === "number")) throw invalid(`embeddings.${index}: not all are numbers`);
    const vector = new Float32Array(numbers as number[]);
    if (!isUsable(vector)) throw invalid(`embeddings.${index}: it has no direction`);
    return normalize(vector);
  });
}
