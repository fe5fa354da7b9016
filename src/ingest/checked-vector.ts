import { StoreError } from "../core/errors.ts";
import { isUsable } from "../vector/vector.ts";

/**
 * Returns the vector if it is valid.
 *
 * @throws {StoreError} `VECTOR_INVALID` for a vector that would spoil every centroid it is added to.
 */
export function checkedVector(vector: Float32Array, dimension: number): Float32Array {
  if (vector instanceof Float32Array && vector.length === dimension && isUsable(vector)) return vector;
  const reason =
    vector.length === dimension ? "it is zero, not finite, or not a Float32Array" : "it has another dimension";
  throw new StoreError("VECTOR_INVALID", { reason, expected: dimension, actual: vector.length });
}
