import { DamageError, parseStored } from "../../core/damage.ts";
import { decodeEmbedding, decodeVector, encodeEmbedding, encodeVector } from "../../vector/codec.ts";
import { blobOf } from "./stored-value.ts";

/** How a column is stored whose values SQLite does not have. In a damaged row, it can have any type. */
export const CODECS = {
  boolean: {
    toDriver: (value: boolean) => (value ? 1 : 0),
    fromDriver: (stored: unknown) => Number(stored) === 1,
  },
  bytes: {
    toDriver: (value: Buffer) => value,
    fromDriver: blobOf,
  },
  /** Little-endian Float32 values, 4 bytes each. */
  vector: {
    toDriver: encodeVector,
    fromDriver: (stored: unknown) => {
      if (!Buffer.isBuffer(stored) || stored.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0) {
        throw new DamageError("a stored vector is not a row of 4-byte numbers");
      }
      return decodeVector(stored, stored.byteLength / Float32Array.BYTES_PER_ELEMENT);
    },
  },
  /** One byte a number: see vector/codec.ts. */
  embedding: {
    toDriver: encodeEmbedding,
    fromDriver: (stored: unknown) => {
      if (!Buffer.isBuffer(stored)) throw new DamageError("a stored embedding is not a BLOB");
      return decodeEmbedding(stored);
    },
  },
  json: {
    toDriver: (value: unknown) => JSON.stringify(value),
    fromDriver: parseStored,
  },
};
