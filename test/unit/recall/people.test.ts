import { describe, expect, test } from "vitest";
import type { MessageInput, RecallHit } from "../../../src/index.ts";
import { FEATURES, peopleFeatures, spokenWords } from "../../../src/recall/people.ts";
import { shapeOf } from "../../../src/recall/shape.ts";
import { rankedMessage } from "../../support/ranked-message.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const person = (name: string, content: string, createdAt = 0): MessageInput => ({
  role: "user",
  name,
  content,
  createdAt,
});

/** A talk of two friends. Every line has a word of the questions below. */
const TALK = [
  person("Ada", "Hey Ben! How is the new garden?"),
  person("Ben", "The garden is wonderful, I planted tulips."),
  person("Ada", "Where did you get the bulbs?"),
  person("Ben", "A friend sent them, from Utrecht."),
  person("Ada", "My sister wants a garden too."),
  person("Ben", "Did your sister find a flat?"),
  person("Ada", "Yes, she moved last March, with two cats."),
  person("Ben", "Great! I would love to see the flat of your sister."),
  person("Ada", "Come over, my sister bakes on Sundays."),
];

async function asked(question: string, sessions: MessageInput[][] = [TALK]): Promise<RecallHit[]> {
  const store = temporaryStore();
  sessions.forEach((messages, index) => void store.session(`talk-${index}`).append(messages));
  return store.recall(question, { limit: 20, neighbors: 0, explain: true });
}

const first = async (question: string): Promise<string> => (await asked(question))[0]!.text;

describe("people who talk to each other", () => {
  test("answer a question in the next message, even without its words", async () => {
    expect(await first("Where did Ben get the bulbs?")).toBe(TALK[3]!.content);
  });

  const BEN = [person("Ben", "Good to know.")];

  test.each([
    ["a time", "When did the sister of Ada move?", "My sister moved last March, finally.", "My sister moved."],
    [
      "a number",
      "How many cats does the sister of Ada keep?",
      "My sister keeps three of her cats.",
      "My sister keeps cats.",
    ],
    ["a place", "Where does the sister of Ada live?", "My sister lives in Utrecht, near us.", "My sister lives well."],
  ])("say %s if the question asks for it", async (_, question, answer, other) => {
    const [hit] = await asked(question, [[...BEN, person("Ada", answer), ...BEN, person("Ada", other), ...BEN]]);
    expect(hit!.text).toBe(answer);
  });

  test("are the ones whom the question names", async () => {
    const talk = ["Ada", "Cy"].map((name) => person(name, "I went to the harbor with the dog."));
    const hits = await asked("What did Ada do at the harbor?", [[...talk, ...BEN]]);
    expect(hits[0]!.name).toBe("Ada");
  });

  test("said it at the time that the question names", async () => {
    const talk = [3, 5, 9].map((month) => person("Ada", "We went hiking in the hills.", Date.UTC(2023, month, 9)));
    const [hit] = await asked("Where did Ada hike in June?", [[...talk, ...BEN]]);
    expect(new Date(hit!.createdAtMs).getUTCMonth()).toBe(5);
  });

  test("have scores that are the sums of their parts", async () => {
    for (const { score, parts } of await asked("When did the sister of Ada move?")) {
      expect(Object.values(parts!).reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 9);
    }
  });
});

describe("other conversations", () => {
  const nameless = TALK.map(({ name: _, ...message }): MessageInput => message);

  test("are ranked as before: a single name is no talk between people", async () => {
    const alone = await asked("When did the sister move?", [
      TALK.map((message) => ({ ...message, name: "Ada" }) as MessageInput),
    ]);
    // Parts of the sum are never negative, except that of the speaker.
    for (const { parts } of alone) expect(parts!.neighborhood).toBeLessThanOrEqual(0.6);
    const without = await asked("When did the sister move?", [nameless]);
    expect(without.map(({ seq }) => seq)).toEqual(alone.map(({ seq }) => seq));
  });

  test("keep their places beside people, who take each other's", async () => {
    const question = "When did the sister move to the flat?";
    const mixed = await asked(question, [TALK, nameless]);
    const orderOf = (hits: RecallHit[]) => hits.map(({ seq }) => seq);
    expect(orderOf(mixed.filter(({ sessionId }) => sessionId === "talk-0"))[0]).toBe(
      orderOf(await asked(question, [TALK]))[0],
    );
    const others = mixed.filter(({ sessionId }) => sessionId === "talk-1");
    for (let at = 1; at < others.length; at++) expect(others[at]!.score).toBeLessThanOrEqual(others[at - 1]!.score);
  });
});

test("a message's share of the words of a question is by their weights", () => {
  const shareOf = (weights: number[], wordScores: number[], question = "", text = "") => {
    const candidates = [
      { ...rankedMessage(1, 0).candidate, wordScores },
      { ...rankedMessage(2, 0).candidate, wordScores },
    ];
    const [features] = peopleFeatures(
      candidates,
      weights,
      question,
      new Map([
        [1, text],
        [2, ""],
      ]),
    );
    return features![FEATURES.indexOf("share")];
  };
  expect(shareOf([1, 3], [1, 0])).toBe(0.25);
  expect(shareOf([1, 3], [0, 3])).toBe(0.75);
  expect(shareOf([], [])).toBe(0);
  // One of two messages says "go", which weighs ln 2.
  expect(shareOf([1], [0], "Did they go?", "We go.")).toBeCloseTo(0.409384, 6);
});

describe("the features of a message", () => {
  const TEXT = "I saw the two of them in Paris last week.";
  /** Those of the third and the fourth message of a session, which say the same; only the first has the words of the question. */
  const featuresOf = (question: string, text = TEXT, isNamed = false) => {
    const candidates = [0, 1, 2, 3].map((seq) => ({
      ...rankedMessage(seq, Number(seq === 0)).candidate,
      isNamed,
      seq,
    }));
    const texts = new Map(candidates.map(({ messageId }) => [messageId, text]));
    const rows = peopleFeatures(candidates, [1], question, texts);
    return rows.slice(2).map((row) => Object.fromEntries(FEATURES.map((feature, index) => [feature, row[index]])));
  };

  test.each([
    ["How many were there?", { numberWanted: 1, placeWanted: 0, timeWanted: 0 }],
    ["Which city was it?", { numberWanted: 0, placeWanted: 1, timeWanted: 0 }],
    ["When was it?", { numberWanted: 0, placeWanted: 0, timeWanted: 1 }],
  ])("tell whether it has what is asked for: %s", (question, wanted) => {
    expect(featuresOf(question)[0]).toMatchObject(wanted);
    expect(featuresOf(question, "Nobody knows.")[0]).toMatchObject({ numberWanted: 0, placeWanted: 0, timeWanted: 0 });
  });

  test("tell whether it is one of the first three, and what a speaker that is named says of itself", () => {
    expect(featuresOf("Who?").map(({ opening }) => opening)).toEqual([1, 0]);
    expect(featuresOf("Who?")[0]).toMatchObject({ named: 0, beforeNamed: 0, selfNamed: 0, sessionRank: 1 });
    expect(featuresOf("Who?", TEXT, true)[0]).toMatchObject({ named: 1, beforeNamed: 1, selfNamed: 1 });
  });
});

test("a text shows what may answer", () => {
  expect(shapeOf("Wow, I saw the two of them in Paris last week. Did you?")).toEqual({
    endsInQuestion: true,
    hasQuestion: true,
    hasTime: true,
    hasNumber: true,
    hasPlace: true,
    isGreeting: true,
    capitals: 1,
    selves: 1,
  });
  expect(shapeOf("the last one, in the house")).toEqual({
    endsInQuestion: false,
    hasQuestion: false,
    hasTime: false,
    hasNumber: false,
    hasPlace: false,
    isGreeting: false,
    capitals: 0,
    selves: 0,
  });
  expect(shapeOf("")).toMatchObject({ hasTime: false, hasNumber: false });
  expect(shapeOf("we met Ann and Zoe in Athens, 0 of us slept")).toMatchObject({
    capitals: 3,
    hasPlace: true,
    hasNumber: true,
  });
});

test("stop words that say what people did are counted in every form, relative to the length", () => {
  const [go, ...others] = spokenWords("Where did they go?", ["We are going home", "Goes on, going on", "Goblins", ""]);
  expect(others).toEqual([]);
  expect(go![0]).toBeGreaterThan(0);
  expect(go![1]).toBeGreaterThan(0);
  expect([go![2], go![3]]).toEqual([0, 0]);
});
