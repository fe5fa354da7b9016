import { describe, expect, test } from "vitest";
import type { Told } from "../../../src/models/told.ts";
import { toldTogether } from "../../../src/models/told-together.ts";

/** Closing sentences of agents, and those of users, in order. */
function told(...lines: [messageId: number, by: Told["by"], text: string, extra?: Partial<Told>][]): Told[] {
  return lines.map(([messageId, by, text, extra]) => {
    return { messageId, seq: messageId, by, text, worth: 1, isClosing: true, isOutcome: by === "agent", ...extra };
  });
}

/** What each sentence is told with. */
const partners = (all: readonly Told[]) => toldTogether(all).map(({ subject }) => subject?.text ?? null);

describe("sentences that are told together", () => {
  test("an answer comes with its question, so that nobody takes it for something that was done", () => {
    const question = "Does the ferry wait for the last train?";
    const answer = "The timetable holds it for nine minutes because the harbour pays for that.";
    expect(partners(told([1, "user", question], [2, "agent", answer]))).toEqual([null, question]);
    const passing = told([1, "user", question], [2, "agent", answer, { isOutcome: false }]);
    expect(partners(passing)).toEqual([null, null]);
    // The next request is no question.
    const later = told([1, "user", question], [3, "user", "Print the timetable."], [4, "agent", answer]);
    expect(partners(later)).toEqual([null, null, null]);
  });

  test.each([
    ["Can you move the jetty to the north?", "The jetty stands at the north side."],
    ["Why does the ferry leave early?", "Fixed the clock of the ferry, which was nine minutes fast."],
  ])("what came of %j is told without it", (asked, outcome) => {
    expect(partners(told([1, "user", asked], [2, "agent", outcome]))).toEqual([null, null]);
  });

  test("a fault and its repair are told both or not at all, and are worth as much as both", () => {
    const cause = "Fixed. The bug was that the bell was only updated when a ferry docks.";
    const repair = "I added a call that rings it at each departure.";
    const all = told([1, "agent", cause, { worth: 3 }], [1, "agent", repair], [1, "agent", "The bell is of brass."]);
    expect(partners(all)).toEqual([repair, cause, null]);
    expect(toldTogether(all).map(({ worth }) => worth)).toEqual([4, 4, 1]);
  });

  test("a fault that says its repair, or has none, is told alone", () => {
    const whole = "The issue was a loose rope, so I tied it with two knots.";
    expect(partners(told([1, "agent", whole], [1, "agent", "I added a buoy beside it."]))).toEqual([null, null]);
    const open = "The cause is a loose rope at the stern.";
    expect(partners(told([1, "agent", open], [1, "agent", "The rope is nine years old."]))).toEqual([null, null]);
    expect(partners(told([1, "agent", open], [2, "agent", "Fixed the rope with two knots."]))).toEqual([null, null]);
  });
});
