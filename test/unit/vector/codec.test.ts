import { describe, expect, test } from "vitest";
import { DamageError } from "../../../src/core/damage.ts";
import { StoreError } from "../../../src/core/errors.ts";
import { decodeEmbedding, decodeVector, encodeEmbedding, encodeVector } from "../../../src/vector/codec.ts";
import { cosine, squaredLength } from "../../../src/vector/vector.ts";

describe("encodeVector", () => {
  test("writes little-endian IEEE 754, and nothing else", () => {
    expect([...encodeVector(new Float32Array([1, -2.5]))]).toEqual([0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0]);
  });

  test("writes only its own part of a larger buffer", () => {
    const part = new Float32Array([9, 1, 9]).subarray(1, 2);
    expect([...encodeVector(part)]).toEqual([0, 0, 0x80, 0x3f]);
  });

  test("copies: what happens to the vector later is not in the bytes", () => {
    const vector = new Float32Array([1]);
    const bytes = encodeVector(vector);
    vector[0] = 2;
    expect([...bytes]).toEqual([0, 0, 0x80, 0x3f]);
  });
});

describe("decodeVector", () => {
  const bytes = Buffer.from([7, 0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0]);

  test("reads from any byte on", () => {
    expect([...decodeVector(bytes.subarray(1), 2)]).toEqual([1, -2.5]);
  });

  test("copies: the driver may use its buffer again", () => {
    const reused = Buffer.from(bytes.subarray(1));
    const vector = decodeVector(reused, 2);
    reused.fill(0);
    expect([...vector]).toEqual([1, -2.5]);
  });

  test("gives back every bit, NaN and -0 included", () => {
    const odd = Buffer.from([1, 0, 0xc0, 0x7f, 0, 0, 0, 0x80]);
    expect([...encodeVector(decodeVector(odd, 2))]).toEqual([...odd]);
  });

  test.each([7, 12, 0])("refuses %i bytes for a vector of 2 numbers", (byteLength) => {
    expect(() => decodeVector(new Uint8Array(byteLength), 2)).toThrow(
      new StoreError("VECTOR_INVALID", {
        reason: "its length in bytes is not 4 times the dimension",
        expected: 8,
        actual: byteLength,
      }),
    );
  });
});

describe("encodeEmbedding", () => {
  test.each([1, 2, 3, 4, 7, 384, 767])(
    "rounds a vector of %i numbers, and keeps its length and almost its direction",
    (dimension) => {
      const vector = Float32Array.from({ length: dimension }, (_, index) => Math.sin(index + 1));
      const bytes = encodeEmbedding(vector);
      const decoded = decodeEmbedding(bytes);
      expect(decoded).toHaveLength(dimension);
      expect(bytes).toHaveLength(dimension + 4);
      expect(squaredLength(decoded)).toBeCloseTo(squaredLength(vector), 4);
      expect(cosine(decoded, vector)).toBeGreaterThan(0.9999);
    },
  );

  test("makes the same bytes of a vector that was rounded before", () => {
    const bytes = encodeEmbedding(Float32Array.from({ length: 384 }, (_, index) => Math.cos(index * index)));
    expect(encodeEmbedding(decodeEmbedding(bytes)).equals(bytes)).toBe(true);
  });

  test("holds a vector without length, and the largest and smallest numbers", () => {
    expect([...decodeEmbedding(encodeEmbedding(new Float32Array(3)))]).toEqual([0, 0, 0]);
    for (const number of [1e19, 1e-30]) {
      const [x, y] = decodeEmbedding(encodeEmbedding(Float32Array.of(number, -number / 2)));
      expect(x! / number).toBeCloseTo(1, 2);
      expect(y! / number).toBeCloseTo(-0.5, 2);
    }
  });
});

describe("decodeEmbedding", () => {
  test("copies: the driver may use its buffer again", () => {
    const bytes = encodeEmbedding(Float32Array.of(1, 0.5));
    const vector = decodeEmbedding(bytes);
    bytes.fill(0);
    expect(vector[0]).toBeGreaterThan(0.9);
  });

  test.each([0, 1, 4])("refuses %i bytes", (byteLength) => {
    expect(() => decodeEmbedding(new Uint8Array(byteLength).fill(2))).toThrow(DamageError);
  });
});
