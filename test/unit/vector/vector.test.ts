import { describe, expect, test } from "vitest";
import { addInto, cosine, dot, isUsable, normalize } from "../../../src/vector/vector.ts";

const vector = (...numbers: number[]) => new Float32Array(numbers);

describe("dot", () => {
  test("multiplies every element, also past the last whole group of four", () => {
    expect(dot(vector(1, 2, 3, 4, 5, 6), vector(1, 10, 100, 1000, 10000, 100000))).toBe(654321);
    expect(dot(vector(2, 3), vector(4, 5))).toBe(23);
    expect(dot(vector(), vector())).toBe(0);
  });

  test("refuses vectors of two lengths", () => {
    expect(() => dot(vector(1, 2), vector(1))).toThrow("one length");
  });
});

describe("cosine", () => {
  test("is that of the angle, whatever the lengths", () => {
    expect(cosine(vector(3, 4), vector(30, 0))).toBe(0.6);
    expect(cosine(vector(2, 0), vector(-5, 0))).toBe(-1);
  });

  test("is 0 against a vector without length", () => {
    expect(cosine(vector(0, 0), vector(1, 0))).toBe(0);
  });

  test("never leaves [-1, 1], although the rounded quotient does", () => {
    expect(cosine(vector(0.052, 0.116, 1), vector(0.156, 0.348, 3))).toBe(1); // 1.0000000000000002 before it is clamped
  });
});

describe("addInto", () => {
  test("adds in place and rounds to Float32 each time", () => {
    const sum = vector(1, 16777216); // 2^24: the next Float32 is 2 away
    addInto(sum, vector(2, 1));
    expect([...sum]).toEqual([3, 16777216]);
  });
});

describe("normalize", () => {
  test("gives unit length", () => {
    expect([...normalize(vector(3, 4))].map((x) => x.toFixed(6))).toEqual(["0.600000", "0.800000"]);
  });

  test("leaves a vector without length as it is", () => {
    expect([...normalize(vector(0, 0))]).toEqual([0, 0]);
  });
});

describe("isUsable", () => {
  test.each([
    ["a plain vector", vector(0, -1), true],
    ["all zeros", vector(0, 0), false],
    ["no elements", vector(), false],
    ["a NaN", vector(1, Number.NaN), false],
    ["an infinity", vector(1, Number.NEGATIVE_INFINITY), false],
  ])("answers for %s", (_, given, expected) => {
    expect(isUsable(given)).toBe(expected);
  });
});
