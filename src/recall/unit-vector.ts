import { StoreError } from "../core/errors.ts";
import { normalize } from "../vector/vector.ts";

/**
 * Returns a copy of a caller's vector with unit length.
 *
 * @param name  The caller's name for the vector, for error messages.
 * @param dimension  The expected dimension.
 * @throws {StoreError} `VECTOR_INVALID` for another dimension, for numbers that are not finite in 32 bits, and if all are
 *   zero; `OPTION_INVALID` if it is no vector.
 */
export function unitVector(name: string, given: unknown, dimension: number): Float32Array {
  const refuse = (reason: string, expected: number, actual: number): never => {
    throw new StoreError("VECTOR_INVALID", { reason, expected, actual });
  };
  if (!(given instanceof Float32Array) && !Array.isArray(given)) {
    const expected = "a Float32Array or an array of numbers";
    throw new StoreError("OPTION_INVALID", { option: name, expected, actual: given });
  }
  if (given.length !== dimension) refuse("its dimension is not the store's", dimension, given.length);
  // Values that are not numbers become NaN and are refused below. Float32Array would throw on a bigint.
  const vector = Float32Array.from(given as ArrayLike<unknown>, (value) =>
    typeof value === "number" ? value : Number.NaN,
  );
  const finiteCount = vector.filter(Number.isFinite).length;
  if (finiteCount < dimension) refuse("not all its numbers are finite in 32 bits", dimension, finiteCount);
  // Divides by the largest magnitude first: the squares of very small numbers lose precision.
  const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  if (largest === 0) refuse("it has no direction: all its numbers are zero", 1, 0);
  return normalize(vector.map((value) => value / largest));
}
