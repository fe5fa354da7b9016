import { describe, expect, test } from "vitest";
import { bCubedF, largestShare, mean, oneToOneOverlap, singletonShare } from "../../../scripts/eval/measures.ts";

// gold:  {1 2 3} {4 5}     found: {1 2} {3 4 5}
const GOLD = ["a", "a", "a", "b", "b"];
const FOUND = [1, 1, 2, 2, 2];

describe("bCubedF", () => {
  test("is the harmonic mean of what an average item sees", () => {
    // Precision: 1, 1, 1/3, 2/3, 2/3 → 11/15. Recall: 2/3, 2/3, 1/3, 1, 1 → 11/15.
    expect(bCubedF(FOUND, GOLD)).toBeCloseTo(11 / 15, 10);
    // All alone: precision 1; recall 1/3 three times, 1/2 twice → 2/5. F = 2·1·0.4/1.4.
    expect(bCubedF([1, 2, 3, 4, 5], GOLD)).toBeCloseTo(0.8 / 1.4, 10);
  });

  test("is 1 for the truth under other names, and 0 for nothing", () => {
    expect(bCubedF([7, 7, 7, "x", "x"], GOLD)).toBe(1);
    expect(bCubedF([], [])).toBe(0);
  });

  test("tells labels of two types apart", () => {
    // Both alone, and belong together: precision 1, recall 1/2.
    expect(bCubedF([1, "1"], ["a", "a"])).toBeCloseTo(2 / 3, 10);
  });

  test("refuses lists of two lengths", () => {
    expect(() => bCubedF([1], GOLD)).toThrow("Expected 5 labels, got 1.");
  });
});

describe("oneToOneOverlap", () => {
  test("pairs clusters off so that most items agree", () => {
    expect(oneToOneOverlap(FOUND, GOLD)).toBe(4 / 5);
    expect(oneToOneOverlap([1, 2, 3, 4, 5], GOLD)).toBe(2 / 5);
    expect(oneToOneOverlap([1, 1, 1, 1, 1], GOLD)).toBe(3 / 5);
  });

  test("gives up the largest single agreement where that pays", () => {
    // Overlaps x∩a 3, x∩b 2, y∩a 2: taking x–a leaves y–b with none, 3; x–b and y–a make 4.
    expect(oneToOneOverlap(["x", "x", "x", "x", "x", "y", "y"], ["a", "a", "a", "b", "b", "a", "a"])).toBe(4 / 7);
  });

  test("is 0 for nothing", () => {
    expect(oneToOneOverlap([], [])).toBe(0);
  });
});

describe("shares", () => {
  test("of the largest cluster", () => {
    expect(largestShare(FOUND)).toBe(3 / 5);
    expect(largestShare([])).toBe(0);
  });

  test("of items that are alone", () => {
    expect(singletonShare([1, 2, 2, 3])).toBe(2 / 4);
    expect(singletonShare([])).toBe(0);
  });

  test("mean of nothing is 0", () => {
    expect([mean([]), mean([1, 2])]).toEqual([0, 1.5]);
  });
});
