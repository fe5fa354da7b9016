import { describe, expect, test } from "vitest";
import { remember, type Speech, speechEvidence } from "../../../src/forest/speech.ts";

const MINUTE_MS = 60_000;

const said = (name: string, seq: number, atMs = 0): Speech => ({ name, seq, atMs });
const says = (speaker: string | undefined, text = "", seqFirst = 20, createdAtMs = 0) => ({
  speaker,
  text,
  seqFirst,
  createdAtMs,
});
const heardBy = (...args: Parameters<typeof speechEvidence>) => [...speechEvidence(...args).heard];

/** Four people, one in each of four clusters: each has a quarter of the channel, which counts 1 − 2/4. */
const CHANNEL = [
  { root: 1, speakers: [said("ann", 1)] },
  { root: 2, speakers: [said("bob", 2)] },
  { root: 3, speakers: [said("cem", 3)] },
  { root: 4, speakers: [said("dia", 4)] },
];

describe("remember", () => {
  test("keeps each speaker once, with their newest words, and the newest four", () => {
    const steps = ["Ann", "bob", "ANN", "cem", "dia", "eve"].map((speaker, seqFirst) => says(speaker, "", seqFirst));
    const speakers = steps.reduce<Speech[]>((list, step) => remember(list, step), []);
    expect(speakers).toEqual([said("ann", 2), said("cem", 3), said("dia", 4), said("eve", 5)]);
  });

  test("learns nothing from a step without a name", () => {
    expect(remember([said("ann", 1)], says(undefined))).toEqual([said("ann", 1)]);
  });

  test("knows a person of several names by the first, and cuts a name no one has", () => {
    expect(remember([], says("Jane Doe"))[0]!.name).toBe("jane");
    expect(remember([], says("x".repeat(10_000)))[0]!.name).toHaveLength(64);
    expect(remember([], says("!"))[0]!.name).toBe("!");
  });
});

describe("speechEvidence", () => {
  test.each(["bob: try this", "@Bob try this", "thanks, BOB!", "(bob)", "ask bob."])(
    "hears who is named in %j",
    (text) => {
      expect(heardBy(says("eve", text), CHANNEL)).toEqual([[2, 0.5]]);
    },
  );

  test.each(["bobby is right", "kebob", "b o b", ""])("hears nobody in %j", (text) => {
    expect(heardBy(says("eve", text), CHANNEL)).toEqual([]);
  });

  test("hears everyone who is named, and not the speaker", () => {
    const muchLater = 1000;
    expect(heardBy(says("bob", "ann, dia, bob: all of you", muchLater), CHANNEL)).toEqual([
      [1, 0.5],
      [4, 0.5],
    ]);
  });

  test("goes by where someone was heard last", () => {
    const clusters = [...CHANNEL, { root: 5, speakers: [said("bob", 9)] }];
    // Two of five memories are bob's: 1 − 2·2/5.
    expect(heardBy(says("eve", "bob?"), clusters)).toEqual([[5, expect.closeTo(0.2, 10)]]);
  });

  test.each([
    ["in the same exchange", 4 + 50, 10 * MINUTE_MS, [[4, 0.5]]],
    ["51 messages later", 4 + 51, 10 * MINUTE_MS, []],
    ["more than ten minutes later", 4 + 50, 10 * MINUTE_MS + 1, []],
  ])("finds where the speaker spoke %s", (_, seqFirst, createdAtMs, expected) => {
    expect(heardBy(says("dia", "", seqFirst, createdAtMs), CHANNEL)).toEqual(expected);
  });

  test("says nothing between two people, however often their names fall", () => {
    const clusters = [
      { root: 1, speakers: [said("ann", 1), said("bob", 2)] },
      { root: 2, speakers: [said("ann", 3)] },
    ];
    expect(speechEvidence(says("bob", "ann: well"), clusters)).toEqual({ heard: new Map(), crowd: 0 });
  });

  test("calls it a crowd by the share of the speaker", () => {
    expect(speechEvidence(says("ann"), CHANNEL).crowd).toBe(0.5);
    const more = [...CHANNEL, ...CHANNEL.map(({ root }) => ({ root: root + 10, speakers: [said(`n${root}`, root)] }))];
    expect(speechEvidence(says("ann"), more).crowd).toBe(0.75);
    expect(speechEvidence(says("ann"), []).crowd).toBe(0);
    expect(speechEvidence(says(undefined, "bob: hi"), CHANNEL)).toEqual({ heard: new Map(), crowd: 0 });
  });
});
