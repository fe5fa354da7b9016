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
