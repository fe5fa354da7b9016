import { describe, expect, test } from "vitest";
import { didYouMean, nearest } from "../../../src/core/suggestion.ts";

const TABLES = ["messages", "sessions", "summaries", "themes"];

describe("nearest", () => {
  test.each([
    ["message", "messages"],
    ["Mesages", "messages"],
    ["seshions", "sessions"],
    ["sum", "summaries"], // the beginning of it
    ["unrelated", undefined],
    ["", undefined],
    ["x", undefined],
  ])("%j means %j", (typed, meant) => {
    expect(nearest(typed, TABLES)).toBe(meant);
  });

  test("picks the word with the fewest wrong letters", () => {
    expect(nearest("theme", ["themes", "theses", "thyme"])).toBe("themes");
  });
});

test("a hint is a question, or empty", () => {
  expect(didYouMean("teme", TABLES)).toBe("Did you mean themes?");
  expect(didYouMean("zebra", TABLES)).toBe("");
});
