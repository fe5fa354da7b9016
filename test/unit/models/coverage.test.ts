import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CoverageItem, selectByCoverage } from "../../../src/models/coverage.ts";

const ALL = { gainMin: 0, refusalsMax: 1_000 };

/** The order in which items are offered when there is room for `roomCount` of them. */
function offered(items: CoverageItem[], weights: number[], roomCount = items.length, limits = ALL): number[] {
  const order: number[] = [];
  selectByCoverage(items, weights, limits, (index) => order.push(index) <= roomCount);
  return order;
}

function item(terms: number[], value = 1, cost = 1): CoverageItem {
  return { terms, value, cost };
}

describe("selectByCoverage", () => {
  test("covers nothing with what found no room", () => {
    const order: number[] = [];
    selectByCoverage([item([0, 1]), item([0]), item([2], 0.5)], [1, 1, 1], ALL, (index) => {
      order.push(index);
      return index !== 0;
    });
    // Item 0 is refused, so term 0 is still uncovered and item 1 (0.53) comes before item 2 (0.35).
    expect(order).toEqual([0, 1, 2]);
  });

  test("offers the first whatever it gains, the others only above the least gain", () => {
    const items = [item([0], 0.1), item([1], 0.05)];
    expect(offered(items, [1, 1], 2, { gainMin: 0.5, refusalsMax: 9 })).toEqual([0]);
    expect(offered(items, [1, 1], 2, { gainMin: 0.01, refusalsMax: 9 })).toEqual([0, 1]);
  });

  test("stops after so many refusals", () => {
    const items = Array.from({ length: 10 }, (_, term) => item([term]));
    expect(offered(items, Array(10).fill(1), 2, { gainMin: 0, refusalsMax: 3 })).toEqual([0, 1, 2, 3, 4]);
  });

  /**
   * Goal: keeping old gains as bounds never changes a choice.
   * Method: compare with a selection that weighs every item anew in every round.
   */
  test("chooses what weighing everything each time would", () => {
    const items = fc.array(
      fc.record({
        terms: fc.uniqueArray(fc.nat(7), { maxLength: 4 }),
        value: fc.integer({ min: 1, max: 6 }),
        cost: fc.constantFrom(1, 4, 9),
      }),
      { maxLength: 14, size: "max" },
    );
    let chosenMax = 0;
    fc.assert(
      fc.property(items, fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 8, maxLength: 8 }), (items, weights) => {
        const fast = offered(items, weights);
        expect(fast).toEqual(choosePlainly(items, weights));
        chosenMax = Math.max(chosenMax, fast.length);
      }),
    );
    expect(chosenMax).toBeGreaterThan(8);
  });
});

/** Each round, the item whose addition raises the sum most for the root of its cost. */
function choosePlainly(items: readonly CoverageItem[], weights: readonly number[]): number[] {
  const covered = weights.map(() => 0);
  const chosen: number[] = [];
  for (;;) {
    let best = -1;
    let bestGain = 0;
    for (const [index, { terms, value, cost }] of items.entries()) {
      if (chosen.includes(index)) continue;
      let gain = 0;
      for (const term of terms) {
        const before = covered[term]!;
        gain += weights[term]! * value * (1 / ((1 + before) * (1 + before + value)) + 0.03);
      }
      gain *= 1 / Math.sqrt(cost);
      if (gain > bestGain) [best, bestGain] = [index, gain];
    }
    if (best < 0) return chosen;
    chosen.push(best);
    for (const term of items[best]!.terms) covered[term]! += items[best]!.value;
  }
}
