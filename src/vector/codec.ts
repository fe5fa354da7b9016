import { StoreError } from "../core/errors.ts";

const LITTLE_ENDIAN_HOST = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Returns a copy of a vector as bytes for a BLOB: 4 bytes for each number, little-endian IEEE 754, and nothing else. */
export function encodeVector(vector: Float32Array): Buffer {
  const bytes = Buffer.from(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
  return LITTLE_ENDIAN_HOST ? bytes : bytes.swap32();
}

/**
 * Returns a copy of the vector in a BLOB, because a driver's Buffer may start at any byte and may be used again.
 *
 * @throws {StoreError} `VECTOR_INVALID` if the BLOB does not hold exactly `dimension` numbers.
 */
export function decodeVector(blob: Uint8Array, dimension: number): Float32Array {
  if (blob.byteLength !== 4 * dimension) {
    throw new StoreError("VECTOR_INVALID", {
      reason: "its length in bytes is not 4 times the dimension",
      expected: 4 * dimension,
      actual: blob.byteLength,
    });
  }
  const bytes = new Uint8Array(blob);
  if (!LITTLE_ENDIAN_HOST) Buffer.from(bytes.buffer).swap32();
  return new Float32Array(bytes.buffer);
}
