import { StoreError } from "../core/errors.ts";

const LITTLE_ENDIAN_HOST = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Copies a vector into the bytes of a BLOB: each number as 4 bytes, little-endian IEEE 754. */
export function encodeVector(vector: Float32Array): Buffer {
  const bytes = Buffer.from(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
  return LITTLE_ENDIAN_HOST ? bytes : bytes.swap32();
}

/**
 * Copies the vector out of a BLOB, because a driver may use the BLOB's memory again.
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
