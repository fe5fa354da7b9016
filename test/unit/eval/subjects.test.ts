import { expect, test } from "vitest";
import { type SubjectQuestion, subjectFigures } from "../../../scripts/eval/subjects.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const LOCK = "the stale session lock blocks the writer until the lock file is removed";
const OVEN = "the oven bakes sourdough bread with rye flour";

test("compares what the first hit's subject reaches with what chance would", async () => {
  let now = Date.UTC(2026, 0, 1);
  const store = openedStore(temporaryPath(), { clock: () => now });
  const ids: Record<string, number> = {};
  // Five sessions: "a", "b" and "c" are about the lock, "c" also about the oven, as is "d"; "e" is about neither.
  const texts = { a: [LOCK], b: [LOCK], c: [LOCK, OVEN], d: [OVEN], e: ["purple buttons beside yellow headings"] };
  for (const [id, said] of Object.entries(texts)) {
    const results = store.session(id, { project: "p" }).appendAll([...said, "Thanks!"].map((text) => user(text)));
    said.forEach((text, index) => {
      ids[`${id} ${text}`] = results[index]!.messageId;
    });
  }
  now += 2 * 86_400_000;
  await store.upkeep();

  const question = (text: string, ...goldSessions: string[]): SubjectQuestion => ({ text, project: "p", goldSessions });
  const questions = [
    question(`a ${LOCK}`, "a", "b"), // reaches b and c of the 4 others: 1 of 1 gold, expected 2/4
    question(`d ${OVEN}`, "c", "d", "e"), // reaches c: 1 of 2, expected 1/4
    question(`a ${LOCK}`, "d", "e"), // 0 of 2, expected 2/4
    question(`a ${LOCK}`, "a"), // nothing else to reach
    question("never found", "a", "b"),
  ];
  const figures = await subjectFigures(store, questions, ({ text }) => ids[text]);
  expect(figures).toEqual({
    largestShare: 0.5, // 3 of 6 clusters
    reach: 0.5,
    expectedReach: expect.closeTo(1.25 / 3, 9),
    lift: expect.closeTo(1.2, 9),
    questionCount: 3,
  });
});
