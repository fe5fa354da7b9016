import { expect, test } from "vitest";
import type { RecallHit } from "../../../src/index.ts";
import { asksForAdvice, asksForAnswers, isWish } from "../../../src/recall/advice.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const textsOf = (hits: readonly RecallHit[]): string[] => hits.map(({ text }) => text);

test.each([
  ["How should I test the parser?", true],
  ["Can you suggest a name for the parser?", true],
  ["Please write a parser", true],
  ["Can you list what I have tested?", false],
  ["Could you summarize our conversations?", false],
  ["When is the release?", false],
])("%s asks for advice: %s", (question, expected) => {
  expect(asksForAdvice(question)).toBe(expected);
});

test.each([
  ["Always answer in German.", true],
  ["Thanks. Never push to main.", true],
  ["From now on, use tabs.", true],
  ["I'd rather use tabs.", true],
  ["I prefer tabs, can you reformat this?", true],
  ["Never mind.", false],
  ["I have always used tabs.", false],
  ["It never worked.", false],
])("%s is a wish: %s", (text, expected) => {
  expect(isWish(text)).toBe(expected);
});

test.each([
  ["What did you recommend for the parser?", true],
  ["Which test runner was it that you suggested?", true],
  ["Give me a summary of the migration", true],
  ["What did I choose for the parser?", false],
])("%s asks for answers: %s", (question, expected) => {
  expect(asksForAnswers(question)).toBe(expected);
});

test("a question for advice finds the wish of a user first, and a question for a fact does not", async () => {
  const store = temporaryStore();
  store
    .session("parser")
    .append([
      user("Always show the error output when I ask about the parser test."),
      assistant("I will."),
      user("The parser test runs at night."),
      assistant("Good."),
      user("The parser test needs ten minutes."),
    ]);
  const advice = await store.recall("how should I run the parser test?");
  expect(textsOf(advice)[0]).toMatch(/^Always/);
  const fact = await store.recall("when does the parser test run?");
  expect(textsOf(fact)[0]).toBe("The parser test runs at night.");
});

test("a question for what an assistant said finds the answer after the message that matches, and nothing else moves", async () => {
  const store = temporaryStore();
  const answer = `Write each case first. ${"Then let it fail, and make it pass. ".repeat(40)}`;
  store
    .session("parser")
    .append([
      user("How do I test the parser of the harbor tables?"),
      assistant(answer),
      user("The harbor has a parser."),
      user("The tables of the harbor are old."),
    ]);
  const question = "the parser of the harbor tables";
  const plain = textsOf(await store.recall(question));
  expect(plain.indexOf(answer)).toBe(3);
  const asked = textsOf(await store.recall(`what did you say about ${question}?`));
  expect(asked.indexOf(answer)).toBe(1);
  expect(asked.filter((text) => text !== answer)).toEqual(plain.filter((text) => text !== answer));
});

test("the parts of a raised score add up to it", async () => {
  const store = temporaryStore();
  store.session("parser").append([user("Always test the parser."), assistant("The parser test is long.")]);
  for (const { score, parts } of await store.recall("how should I test the parser?", { explain: true })) {
    expect(score).toBeCloseTo(
      Object.values(parts!).reduce((sum, part) => sum + part, 0),
      12,
    );
  }
});
