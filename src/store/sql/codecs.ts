import { deflateRawSync, inflateRawSync } from "node:zlib";
import { DamageError, parseStored } from "../../core/damage.ts";
import type { JsonValue } from "../../core/json.ts";
import { MESSAGE_CHARS_MAX, VALUE_BYTES_MAX, VALUE_COMPRESSED_MIN } from "../../core/limits.ts";
import { decodeEmbedding, decodeVector, encodeEmbedding, encodeVector } from "../../vector/codec.ts";

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

export type ValueEncoding = "json" | "deflated json" | "bytes" | "deflated bytes";

export interface StoredValue {
  encoding: ValueEncoding;
  value: string | Buffer;
}

/** The most bytes that a value takes before it is compressed: JSON takes up to six a character. */
const INFLATED_BYTES_MAX = Math.max(VALUE_BYTES_MAX, 6 * MESSAGE_CHARS_MAX);

/** Encodes checked JSON or bytes. A long value is compressed. */
export function encodeValue(value: JsonValue | Uint8Array): StoredValue {
  if (!(value instanceof Uint8Array)) {
    const json = JSON.stringify(value);
    if (json.length < VALUE_COMPRESSED_MIN) return { encoding: "json", value: json };
    return shorter({ encoding: "json", value: json }, "deflated json", Buffer.from(json));
  }
  const bytes = Buffer.from(value); // a copy, because the caller may change the bytes
  if (bytes.byteLength < VALUE_COMPRESSED_MIN) return { encoding: "bytes", value: bytes };
  return shorter({ encoding: "bytes", value: bytes }, "deflated bytes", bytes);
}

function shorter(plain: StoredValue, encoding: ValueEncoding, bytes: Buffer): StoredValue {
  const value = deflateRawSync(bytes, { level: 1 });
  return value.byteLength < bytes.byteLength ? { encoding, value } : plain;
}

export function decodeValue({ encoding, value }: StoredValue): JsonValue | Uint8Array {
  switch (encoding) {
    case "json":
      return parseStored(String(value)) as JsonValue;
    case "deflated json":
      return parseStored(inflated(value).toString()) as JsonValue;
    case "bytes":
      return new Uint8Array(blobOf(value));
    case "deflated bytes":
      return new Uint8Array(inflated(value));
    default:
      throw new DamageError(`a stored value has the unknown encoding ${encoding}`);
  }
}

function inflated(value: string | Buffer): Buffer {
  try {
    return inflateRawSync(blobOf(value), { maxOutputLength: INFLATED_BYTES_MAX });
  } catch (cause) {
    throw new DamageError("a stored value does not inflate", { cause });
  }
}

/** Returns a value that should be a BLOB. In a damaged file it can have any type. @throws {DamageError} if it has another. */
export function blobOf(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  throw new DamageError("a stored value is not a BLOB");
}
