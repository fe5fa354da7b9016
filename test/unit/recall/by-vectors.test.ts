import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byVectors, type Ranked } from "../../../src/recall/ranking.ts";

describe("a ranking by vectors", () => {
  test("adds a fifth of the cosine, and nothing where there is none", () => {
    const ranking = [ranked(1, 0.5), ranked(2, 0.45), ranked(3, 0.4)];
    const near = [
      ...byVectors(
        ranking,
        () =>
          new Map([
            [2, 1],
            [3, -0.5],
          ]),
      ),
    ];
    expect(near.map(({ evidence, score }) => [evidence.messageId, Number(score.toFixed(6))])).toEqual([
      [2, 0.65],
      [1, 0.5],
      [3, 0.3],
    ]);
    expect(near[0]!.parts.vector).toBe(0.2);
  });

  test("looks at no more embeddings than the first messages ask for", () => {
    const ranking = Array.from({ length: 1_000 }, (_, index) => ranked(index, 10 - index / 100));
    const asked: number[] = [];
    const [first] = byVectors(ranking, (ids) => {
      asked.push(...ids);
      return new Map();
    });
    expect(first!.evidence.messageId).toBe(0);
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
        const ranking = ones.map(({ words }, id) => ranked(id, words)).sort(inOrder);
        const cosines = new Map(ones.map(({ cosine }, id) => [id, cosine]));
        const expected = ranking
          .map(({ evidence }) => ({
            evidence,
            score: ones[evidence.messageId]!.words + 0.2 * cosines.get(evidence.messageId)!,
          }))
          .sort(inOrder);
        const near = [...byVectors(ranking, () => cosines)];
        expect(near.map(({ evidence }) => evidence.messageId)).toEqual(
          expected.map(({ evidence }) => evidence.messageId),
        );
        if (near[0]!.evidence.messageId !== ranking[0]!.evidence.messageId) moved += 1;
      }),
    );
    expect(moved).toBeGreaterThan(20);
  });
});

function inOrder(left: Pick<Ranked, "score" | "evidence">, right: Pick<Ranked, "score" | "evidence">): number {
  return right.score - left.score || right.evidence.messageId - left.evidence.messageId;
}

function ranked(messageId: number, words: number): Ranked {
  return {
    evidence: {
      messageId,
      sessionId: "s",
      seq: messageId,
      speaker: "user",
      tokenCount: 10,
      wordScores: [words],
      isNamed: false,
      datedness: 0,
    },
    score: words,
    parts: { words, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 },
  };
}
