import { describe, expect, test } from "vitest";
import { timeAsked } from "../../../src/session/aids/time-asked.ts";

/** A Sunday. */
const NOW = new Date(2026, 10, 29, 14, 30).getTime();

function day(month: number, date: number): number {
  return new Date(2026, month - 1, date).getTime();
}

describe("the work of a time is asked for by", () => {
  test.each([
    ["what did we work on last week", day(11, 16), day(11, 23) - 1],
    ["What did I do yesterday?", day(11, 28), day(11, 29) - 1],
    ["what happened this week", day(11, 23), NOW],
    ["what have we done since yesterday", day(11, 28), NOW],
    ["yesterday: what got done?", day(11, 28), day(11, 29) - 1],
    ["so what have you been up to today", day(11, 29), NOW],
    ["summary of last month", day(10, 1), day(11, 1) - 1],
    ["What was done on Monday", day(11, 23), day(11, 24) - 1],
    ["what did we do in October?", day(10, 1), day(11, 1) - 1],
    ["what did we do on 2026-11-03", day(11, 3), day(11, 4) - 1],
  ])("%s", (question, fromMs, toMs) => {
    expect(timeAsked(question, NOW)).toEqual({ fromMs, toMs });
  });
});

test.each([
  "what did we decide about flock last week",
  "what did we do about the lock yesterday",
  "what did we fix last week",
  "what did Maria do last week",
  "what did we work on",
  "last week",
  "what do we do today",
  "what do we have to do this week",
  "what happened to src/lock.ts yesterday",
  "what happened yesterday or last week",
  'what did we do "last week"',
  "how did the deploy work last week",
  "did the tests work yesterday",
  "",
])("%j asks for something else", (question) => {
  expect(timeAsked(question, NOW)).toBeUndefined();
});
