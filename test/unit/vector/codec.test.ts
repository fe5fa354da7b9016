import { describe, expect, test } from "vitest";
import { StoreError } from "../../../src/core/errors.ts";
import { decodeVector, encodeVector } from "../../../src/vector/codec.ts";

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
