import { expect, test } from "vitest";
import { foldCopies } from "../../../src/recall/copies.ts";
import type { Candidate, Placed } from "../../../src/recall/ranking.ts";

const TWENTY =
  "apple bread candle desk engine flute glass house iron jacket kettle lamp mirror needle orange pencil quilt river cyan teal";
const PARTS = { words: 0, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 };

/** Fold messages, the best first, given as their text and what else matters; ids count from 1. Gives ids: hit, copies. */
function folded(messages: (Partial<Candidate> & { text: string })[], limit = 10): [number, number[]][] {
  const ranking = messages.map(({ text: _, ...given }, index): Placed => {
    const said = { sessionId: "s", seq: index, name: null, createdAtMs: 0 };
    const candidate = { ...said, speaker: "user" as const, tokenCount: 20, wordScores: [1] };
    return {
      candidate: { messageId: index + 1, isNamed: false, datedness: 0, closeness: 0, ...candidate, ...given },
      score: 100 - index,
      parts: PARTS,
      worth: 1,
    };
  });
  const idOf = ({ candidate }: Placed): number => candidate.messageId;
  const areCopies = (): boolean => false;
  return foldCopies(ranking, limit, (id) => messages[id - 1]!.text, { areCopies }).map(({ ranked, copies }) => [
    idOf(ranked),
    copies.map(idOf),
  ]);
}

test("the first of near copies stands for the others, in whichever session they are", () => {
  const messages = [
    { text: TWENTY },
    { text: "something else altogether that has its own words" },
    { text: `${TWENTY}!`, sessionId: "other" },
    { text: TWENTY.toUpperCase() },
  ];
  expect(folded(messages)).toEqual([
    [1, [3, 4]],
    [2, []],
  ]);
});

test("texts are near copies that share nine of ten words", () => {
  expect(folded([{ text: TWENTY }, { text: TWENTY.replace("teal", "lime") }])).toEqual([[1, [2]]]); // 19 of 21
  expect(folded([{ text: TWENTY }, { text: TWENTY.replace("cyan teal", "lime mint") }])).toEqual([
    [1, []], // 18 of 22
    [2, []],
  ]);
  expect(folded([{ text: TWENTY }, { text: `${TWENTY} lime mint` }])).toEqual([[1, [2]]]); // 20 of 22
  expect(folded([{ text: TWENTY }, { text: `${TWENTY} lime mint plum` }])).toHaveLength(2); // 20 of 23
});

test("what another speaker says is no copy", () => {
  expect(folded([{ text: TWENTY }, { text: TWENTY, speaker: "assistant" }])).toHaveLength(2);
});

test("a near copy that lacks a word of the query is none; an exact one is, whatever it is worth", () => {
  const near = TWENTY.replace("teal", "lime");
  expect(folded([{ text: TWENTY }, { text: near, wordScores: [0] }])).toHaveLength(2);
  expect(folded([{ text: TWENTY }, { text: near, wordScores: [0.2] }])).toEqual([[1, [2]]]);
  expect(folded([{ text: TWENTY }, { text: TWENTY, wordScores: [0] }])).toEqual([[1, [2]]]);
});

test("short answers are not copies of each other", () => {
  expect(folded([{ text: "yes please do that" }, { text: "yes please do that" }])).toHaveLength(2);
});

test("ends when there are enough, with the copies that came before the next", () => {
  const messages = [{ text: TWENTY }, { text: TWENTY }, { text: "quite another text with words of its own" }];
  expect(folded([...messages, { text: TWENTY }], 1)).toEqual([[1, [2]]]);
});
