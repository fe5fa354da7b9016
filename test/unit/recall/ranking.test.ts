import { describe, expect, test } from "vitest";
import { type Candidate, type Ranked, rankCandidates, type ScoreParts } from "../../../src/recall/ranking.ts";

/** A tool's message without tokens, words and vector, so that every part of its score is 0 until the test gives it one. */
function candidate(messageId: number, given: Partial<Candidate> = {}): Candidate {
  return {
    messageId,
    sessionId: "s",
    seq: 100 * messageId, // far from every other
    name: null,
    createdAtMs: 0,
    speaker: "tool",
    tokenCount: 0,
    wordScores: [0],
    isNamed: false,
    datedness: 0,
    closeness: 0,
    ...given,
  };
}

/** One part of each score, by message id. */
function partOf(part: keyof ScoreParts, ranked: readonly Ranked[]): Record<number, number> {
  return Object.fromEntries(ranked.map(({ candidate: { messageId }, parts }) => [messageId, rounded(parts[part])]));
}

const rounded = (value: number): number => Math.round(value * 1e6) / 1e6 + 0;
const idsOf = (ranked: readonly Ranked[]): number[] => ranked.map(({ candidate: { messageId } }) => messageId);

// In all of these a score of BM25 equal to the word's weight says that the word occurs once in a message of mean length:
// 1 · (1.2 + 1) / (1 + 1.2) = 1. The most that any message could have is 2.2 times the weight.

describe("words", () => {
  test("are a share of the most that a message could have", () => {
    const ranked = rankCandidates([candidate(1, { wordScores: [1, 0] }), candidate(2, { wordScores: [0, 3] })], [1, 3]);
    expect(partOf("words", ranked)).toEqual({ 1: 0.113636, 2: 0.340909 }); // 1 and 3 of 4 · 2.2
    expect(idsOf(ranked)).toEqual([2, 1]);
  });

  test("that no message has, and no words at all, are worth nothing", () => {
    expect(partOf("words", rankCandidates([candidate(1)], [1]))).toEqual({ 1: 0 });
    const [ranked] = rankCandidates([candidate(1, { wordScores: [] })], []);
    expect(ranked!.parts).toEqual({ words: 0, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 });
  });
});

describe("the neighborhood", () => {
  test("lifts a message beside which the words stand, up to two places away", () => {
    const beside = [0, 1, 2, 3].map((seq) => candidate(seq + 1, { seq, wordScores: [seq === 0 ? 1 : 0] }));
    // 0.6 · (1 / 1.5) / (1 / 1.5 + 1.2)
    expect(partOf("neighborhood", rankCandidates(beside, [1]))).toEqual({
      1: 0.214286,
      2: 0.214286,
      3: 0.214286,
      4: 0,
    });
  });

  test("counts a word that several neighbors have as one passage would, and another word in full", () => {
    const around = (first: number[], second: number[]): number =>
      partOf(
        "neighborhood",
        rankCandidates(
          [
            candidate(1, { seq: 0, wordScores: first }),
            candidate(2, { seq: 1, wordScores: [0, 0] }),
            candidate(3, { seq: 2, wordScores: second }),
          ],
          [1, 1],
        ),
      )[2]!;
    expect(around([1, 0], [0, 0])).toBe(0.107143); // half of the words
    expect(around([1, 0], [1, 0])).toBe(0.157895); // 0.6 · (2 / 1.5) / (2 / 1.5 + 1.2) / 2
    expect(around([1, 0], [0, 1])).toBe(0.214286); // both
  });

  test("does not reach into another session", () => {
    const ranked = rankCandidates(
      [
        candidate(1, { sessionId: "a", seq: 0, wordScores: [1] }),
        candidate(2, { sessionId: "b", seq: 1, wordScores: [0] }),
      ],
      [1],
    );
    expect(partOf("neighborhood", ranked)).toEqual({ 1: 0.214286, 2: 0 });
  });

  test("stays finite where a message has the most that is possible", () => {
    const [ranked] = rankCandidates([candidate(1, { wordScores: [2.2] })], [1]);
    expect(ranked!.parts.words).toBe(1);
    expect(ranked!.parts.neighborhood).toBeGreaterThan(0.59);
    expect(ranked!.parts.neighborhood).toBeLessThanOrEqual(0.6);
  });
});

describe("the session", () => {
  test("that has most of the words supports all its messages, the others in proportion", () => {
    const ranked = rankCandidates(
      [
        candidate(1, { sessionId: "a", wordScores: [1, 0] }),
        candidate(2, { sessionId: "a", wordScores: [0, 1] }),
        candidate(3, { sessionId: "b", wordScores: [1, 0] }),
        candidate(4, { sessionId: "c", wordScores: [0, 0] }),
      ],
      [1, 1],
    );
    expect(partOf("session", ranked)).toEqual({ 1: 0.4, 2: 0.4, 3: 0.2, 4: 0 });
  });
});

describe("who speaks", () => {
  test("multiplies what the words and the neighborhood are worth", () => {
    const ranked = rankCandidates(
      (["user", "assistant", "system", "tool"] as const).map((speaker, index) =>
        candidate(index + 1, { speaker, sessionId: speaker, wordScores: [1] }),
      ),
      [1],
    );
    // words 1 / 2.2 and neighborhood 0.214286: of people once more, of assistants and instructions 0.6 times
    expect(partOf("speaker", ranked)).toEqual({ 1: 0.668831, 2: 0.401299, 3: 0.401299, 4: 0 });
  });

  test("loses by length: an assistant most, a person least", () => {
    const ranked = rankCandidates(
      (["user", "assistant", "system", "tool"] as const).map((speaker, index) =>
        candidate(index + 1, { speaker, tokenCount: 99 }),
      ),
      [1],
    );
    // ln 100 = 4.60517 times 0.03, 0.09, 0.09, 0.05
    expect(partOf("speaker", ranked)).toEqual({ 1: -0.138155, 2: -0.414465, 3: -0.414465, 4: -0.230259 });
  });

  test("gains where the query names it", () => {
    const ranked = rankCandidates([candidate(1), candidate(2, { isNamed: true })], [1]);
    expect(partOf("speaker", ranked)).toEqual({ 1: 0, 2: 0.5 });
    expect(idsOf(ranked)).toEqual([2, 1]);
  });
});

test("a time counts by how exactly the query names it", () => {
  const ranked = rankCandidates(
    [candidate(1), candidate(2, { datedness: 1 / 3 }), candidate(3, { datedness: 1 })],
    [1],
  );
  expect(partOf("time", ranked)).toEqual({ 1: 0, 2: 0.166667, 3: 0.5 });
  expect(idsOf(ranked)).toEqual([3, 2, 1]);
});

test("of equals the newest is first, in whichever order they came", () => {
  const [one, two, three] = [candidate(1), candidate(2), candidate(3)];
  for (const order of [
    [one, two, three],
    [three, one, two],
    [two, three, one],
  ]) {
    expect(idsOf(rankCandidates(order, [1]))).toEqual([3, 2, 1]);
  }
});
