import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { squaredLength } from "./vector.ts";

const LITTLE_ENDIAN_HOST = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const LEVELS_MAX = 127;

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
  if (blob.byteLength !== FLOAT_BYTES * dimension) {
    throw new StoreError("VECTOR_INVALID", {
      reason: "its length in bytes is not 4 times the dimension",
      expected: FLOAT_BYTES * dimension,
      actual: blob.byteLength,
    });
  }
  const bytes = new Uint8Array(blob);
  if (!LITTLE_ENDIAN_HOST) Buffer.from(bytes.buffer).swap32();
  return new Float32Array(bytes.buffer);
}

/**
 * Rounds each number of a vector to a signed byte. The unit is 1/127 of the largest number, scaled a little so that the
 * decoded vector has the same length as the given one.
 *
 * The BLOB holds the bytes and then the unit, a little-endian Float32.
 */
export function encodeEmbedding(vector: Float32Array): Buffer {
  const dimension = vector.length;
  const bytes = Buffer.alloc(dimension + FLOAT_BYTES);
  let largest = 0;
  for (let i = 0; i < dimension; i++) {
    const size = Math.abs(vector[i]!);
    if (!(size <= largest)) largest = size;
  }
  let squaredLevels = 0;
  for (let i = 0; i < dimension && largest !== 0; i++) {
    const level = Math.round((vector[i]! / largest) * LEVELS_MAX);
    bytes[i] = level;
    squaredLevels += level * level;
  }
  const unit = squaredLevels === 0 ? 0 : Math.sqrt(squaredLength(vector) / squaredLevels);
  bytes.writeFloatLE(unit, dimension);
  return bytes;
}

/**
 * Copies an embedding out of a BLOB that `encodeEmbedding` made.
 *
 * @throws {DamageError} if the BLOB is too short.
 */
export function decodeEmbedding(blob: Uint8Array): Float32Array {
  const dimension = blob.byteLength - FLOAT_BYTES;
  if (dimension < 1) throw new DamageError("a stored embedding has an impossible length");
  const unit = new DataView(blob.buffer, blob.byteOffset).getFloat32(dimension, true);
  const levels = new Int8Array(blob.buffer, blob.byteOffset, dimension);
  const vector = new Float32Array(dimension);
  for (let i = 0; i < dimension; i++) vector[i] = levels[i]! * unit;
  return vector;
}
