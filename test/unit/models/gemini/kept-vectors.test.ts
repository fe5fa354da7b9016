import { expect, test } from "vitest";
import { KeptVectors } from "../../../../src/models/gemini/kept-vectors.ts";

test("a vector is taken once", () => {
  const kept = new KeptVectors();
  const vector = Float32Array.of(1, 0);
  kept.keep("a", vector);
  expect([kept.take("b"), kept.take("a"), kept.take("a")]).toEqual([undefined, vector, undefined]);
});

test("a thousand are kept, and the oldest give way", () => {
  const kept = new KeptVectors();
  for (let index = 0; index < 1_001; index++) kept.keep(`text ${index}`, Float32Array.of(index));
  expect(kept.take("text 0")).toBeUndefined();
  expect(kept.take("text 1")).toEqual(Float32Array.of(1));
  expect(kept.take("text 1000")).toEqual(Float32Array.of(1_000));
});
