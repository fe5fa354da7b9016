import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byLexicalVectors, type Ranked } from "../../../src/recall/ranking.ts";
import { rankedMessage } from "../../support/ranked-message.ts";

describe("a ranking by vectors", () => {
  test("adds the weighted cosine, and nothing where there is none", () => {
    const ranking = [rankedMessage(1, 0.5), rankedMessage(2, 0.45), rankedMessage(3, 0.4)];
    const near = [
      ...byLexicalVectors(
        ranking,
        () =>
          new Map([
            [2, 1],
            [3, -0.5],
          ]),
        0.2,
      ),
    ];
    expect(near.map(({ candidate, score }) => [candidate.messageId, Number(score.toFixed(6))])).toEqual([
      [2, 0.65],
      [1, 0.5],
      [3, 0.3],
    ]);
    expect(near[0]!.parts.vector).toBe(0.2);
  });

  test("looks at no more embeddings than the first messages ask for", () => {
    const ranking = Array.from({ length: 1_000 }, (_, index) => rankedMessage(index, 10 - index / 100));
    const asked: number[] = [];
    const read = (ids: readonly number[]): Map<number, number> => {
      asked.push(...ids);
      return new Map();
    };
    const [first] = byLexicalVectors(ranking, read, 0.2);
    expect(first!.candidate.messageId).toBe(0);
    expect(asked).toHaveLength(64);
  });

  /**
   * Goal: read as far as one likes, the order is that of all scores.
   * Method: sort random rankings by words and nearness together, and compare.
   */
  test("is the order of all scores", () => {
    const one = fc.record({
      words: fc.double({ min: 0, max: 1, noNaN: true }),
      cosine: fc.double({ min: -1, max: 1, noNaN: true }),
    });
    let moved = 0;
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 300, size: "max" }), (ones) => {
        const ranking = ones.map(({ words }, id) => rankedMessage(id, words)).sort(inOrder);
        const cosines = new Map(ones.map(({ cosine }, id) => [id, cosine]));
        const expected = ranking
          .map(({ candidate }) => ({
            candidate,
            score: ones[candidate.messageId]!.words + 0.2 * cosines.get(candidate.messageId)!,
          }))
          .sort(inOrder);
        const near = [...byLexicalVectors(ranking, () => cosines, 0.2)];
        expect(near.map(({ candidate }) => candidate.messageId)).toEqual(
          expected.map(({ candidate }) => candidate.messageId),
        );
        if (near[0]!.candidate.messageId !== ranking[0]!.candidate.messageId) moved += 1;
      }),
    );
    expect(moved).toBeGreaterThan(20);
  });
});

function inOrder(left: Pick<Ranked, "score" | "candidate">, right: Pick<Ranked, "score" | "candidate">): number {
  return right.score - left.score || right.candidate.messageId - left.candidate.messageId;
}
