import { assert } from "../core/damage.ts";

/** Arithmetic on `Float32Array`s. Sums have a fixed order and double precision, so all machines get the same bits. */

/**
 * Returns the dot product of two vectors of the same dimension. For unit vectors it is at most 1e-6 outside [-1, 1]. Four
 * separate sums are three times as fast, because no addition waits for another.
 */
export function dot(a: Float32Array, b: Float32Array): number {
  assert(a.length === b.length, "vectors that are multiplied have one length");
  const whole = a.length - (a.length % 4);
  // Each by itself: destructured from a list, they would be allocated.
  let sum0 = 0;
  let sum1 = 0;
  let sum2 = 0;
  let sum3 = 0;
  for (let i = 0; i < whole; i += 4) {
    sum0 += a[i]! * b[i]!;
    sum1 += a[i + 1]! * b[i + 1]!;
    sum2 += a[i + 2]! * b[i + 2]!;
    sum3 += a[i + 3]! * b[i + 3]!;
  }
  for (let i = whole; i < a.length; i++) sum0 += a[i]! * b[i]!;
  return sum0 + sum1 + (sum2 + sum3);
}

export function squaredLength(vector: Float32Array): number {
  return dot(vector, vector);
}

/** Returns the cosine of two vectors in [-1, 1]; 0 if one of them has the length 0. */
export function cosine(a: Float32Array, b: Float32Array): number {
  const lengths = Math.sqrt(squaredLength(a) * squaredLength(b));
  if (!(lengths > 0)) return 0;
  return Math.max(-1, Math.min(1, dot(a, b) / lengths));
}

/** Adds `vector` to `sum` in place. The order of calls matters: Float32 addition is not associative. */
export function addInto(sum: Float32Array, vector: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + vector[i]!;
}

/** Scales a vector to unit length in place. A vector of length 0 stays as it is. */
export function normalize(vector: Float32Array): Float32Array {
  const length = Math.sqrt(squaredLength(vector));
  if (length > 0) for (let i = 0; i < vector.length; i++) vector[i] = vector[i]! / length;
  return vector;
}

/** Returns true if every number is finite and not all are zero. Other vectors cannot be compared or indexed. */
export function isUsable(vector: Float32Array): boolean {
  const squared = squaredLength(vector);
  return squared > 0 && squared < Number.POSITIVE_INFINITY;
}
