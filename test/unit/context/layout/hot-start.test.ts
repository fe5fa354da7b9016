import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeHotStart } from "../../../../src/context/layout/fit-window.ts";

const limits = [{ whole: 110, cut: 100 }];

describe("placeHotStart", () => {
  test("shows everything while it fits", () => {
    expect(placeHotStart([[50], [30, 30]], limits)).toMatchObject({ start: 0, level: 0, tokenCount: 110 });
    expect(placeHotStart([], limits)).toMatchObject({ start: 0, level: 0, tokenCount: 0 });
  });

  test("clears half of what the newest step leaves when it no longer fits", () => {
    // 12 steps of 10 are 120. The newest leaves 90; 45 of older ones may stay: four steps.
    expect(placeHotStart(Array(12).fill([10]), limits)).toMatchObject({ start: 7, level: 0, tokenCount: 50 });
  });

  test("then stays until the cleared half is used up", () => {
    for (let count = 12; count <= 17; count++) {
      expect(placeHotStart(Array(count).fill([10]), limits).start).toBe(7);
    }
    expect(placeHotStart(Array(18).fill([10]), limits)).toMatchObject({ start: 13, level: 0, tokenCount: 50 });
  });

  test("hides steps whole", () => {
    expect(placeHotStart([[30, 30, 30], [10], [20]], limits)).toMatchObject({ start: 1, level: 0, tokenCount: 30 });
  });

  test("moves once for a step whose results come in one by one", () => {
    const before = [[20], [20], [20], [20]];
    expect(placeHotStart([...before, [5]], limits).start).toBe(0);
    // 35 are the step's own; of the 65 that leaves, half may be older ones.
    expect(placeHotStart([...before, [5, 30]], limits)).toMatchObject({ start: 3, level: 0, tokenCount: 55 });
    expect(placeHotStart([...before, [5, 30, 20]], limits)).toMatchObject({ start: 3, level: 0, tokenCount: 75 });
  });

  test("takes the room of the memory block for a step that is too large, as long as it is shown", () => {
    const levels = [...limits, { whole: 160, cut: 150 }, { whole: 210, cut: 200 }];
    expect(placeHotStart([[20], [140]], levels)).toMatchObject({ start: 1, level: 1, tokenCount: 140 });
    expect(placeHotStart([[20], [140], [10]], levels)).toMatchObject({ start: 1, level: 1, tokenCount: 150 });
    expect(placeHotStart([[20], [140], [10], [10]], levels)).toMatchObject({ start: 2, level: 0, tokenCount: 20 });
    expect(placeHotStart([[20], [180]], levels)).toMatchObject({ start: 1, level: 2, tokenCount: 180 });
  });

  test("says so when not even the newest step fits", () => {
    expect(placeHotStart([[20], [101]], limits)).toMatchObject({ start: 1, level: 0, tokenCount: 101 });
  });
});

/**
 * Goal: the start moves only forward and seldom, always leaves room behind it, and depends on nothing but the steps.
 * Method: append random costs to random steps; after each, compare with the start before.
 */
test("moves seldom, forward, and far", () => {
  let moves = 0;
  fc.assert(
    fc.property(
      fc.array(fc.record({ cost: fc.integer({ min: 1, max: 20 }), joins: fc.boolean() }), {
        maxLength: 200,
        size: "max",
      }),
      (appended) => {
        const steps: number[][] = [];
        let before = { start: 0, tokenCount: 0 };
        for (const { cost, joins } of appended) {
          // No step larger than a quarter of the room.
          const newest = steps.at(-1) ?? [];
          if (joins && newest.length > 0 && newest.reduce((sum, own) => sum + own, cost) <= 25) newest.push(cost);
          else steps.push([cost]);
          const placed = placeHotStart(steps, limits);
          expect(placed.tokenCount).toBe(
            steps
              .slice(placed.start)
              .flat()
              .reduce((sum, own) => sum + own, 0),
          );
          expect(placed.tokenCount).toBeLessThanOrEqual(placed.start === 0 ? 110 : 100);
          if (placed.start !== before.start) {
            moves++;
            expect(placed.start).toBeGreaterThan(before.start);
            expect(before.tokenCount + cost).toBeGreaterThan(100);
            expect(placed.tokenCount).toBeLessThanOrEqual(62.5); // the newest, at most 25, and half of the rest
          }
          before = placed;
        }
      },
    ),
  );
  expect(moves).toBeGreaterThan(200);
});
