import { describe, expect, test } from "vitest";
import { Best } from "../../../src/ann/best.ts";

describe("the best of many", () => {
  test("come best first, ties to the older root", () => {
    const best = new Best(3);
    for (const [root, similarity] of [
      [9, 0.5],
      [4, 0.5],
      [7, 0.9],
      [5, 0.1],
      [6, 0.5],
    ] as const)
      best.offer(root, similarity);
    expect(best.list()).toEqual([
      { root: 7, similarity: 0.9 },
      { root: 4, similarity: 0.5 },
      { root: 6, similarity: 0.5 },
    ]);
  });

  test("are found among thousands, in whatever order they come", () => {
    const best = new Best(2);
    for (let root = 1; root <= 5_000; root++) best.offer(root, ((root * 7_919) % 5_000) / 5_000);
    // 7919 and 5000 have no common factor, so every rest comes once.
    expect(best.list().map(({ similarity }) => similarity)).toEqual([0.9998, 0.9996]);
  });

  test("are all there are where fewer have come", () => {
    const best = new Best(5);
    best.offer(1, -0.25);
    expect(best.list()).toEqual([{ root: 1, similarity: -0.25 }]);
  });

  test("are cosines, although products of unit vectors overshoot", () => {
    const best = new Best(2);
    best.offer(1, 1.0000001);
    best.offer(2, -1.0000001);
    expect(best.list()).toEqual([
      { root: 1, similarity: 1 },
      { root: 2, similarity: -1 },
    ]);
  });
});
