import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bestHits } from "../../../src/recall/postings.ts";

describe("the best hits", () => {
  /**
   * Goal: however many are thought likely, all come, in the one order.
   * Method: sum and sort the same random lists with a map, and compare.
   */
  test("come in the same order however many are likely", () => {
    const list = fc
      .uniqueArray(fc.nat(60), { maxLength: 40, size: "max" })
      .map((ids) => ids.sort((one, other) => one - other));
    let hitsMax = 0;
    fc.assert(
      fc.property(fc.array(list, { minLength: 1, maxLength: 5 }), fc.nat(80), (lists, likely) => {
        const postings = lists.map((messageIds) => ({ messageIds, shares: messageIds.map((id) => 1 + (id % 3)) }));
        const scores = new Map<number, number>();
        lists.forEach((ids, word) => {
          for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + (word + 1) * (1 + (id % 3)));
        });
        const expected = [...scores].sort(([oneId, one], [otherId, other]) => other - one || otherId - oneId);
        const hits = [
          ...bestHits(
            postings,
            lists.map((_, word) => word + 1),
            likely,
          ),
        ];
        expect(hits.map(({ messageId, score }) => [messageId, score])).toEqual(expected);
        for (const { score, scores: each } of hits) expect(each.reduce((sum, one) => sum + one, 0)).toBe(score);
        hitsMax = Math.max(hitsMax, hits.length);
      }),
    );
    expect(hitsMax).toBeGreaterThan(40);
  });
});
