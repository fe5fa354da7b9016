import { describe, expect, it } from "vitest";
import { decisionsIn } from "../../../src/models/decisions.ts";
import type { Told } from "../../../src/models/told.ts";

function told(by: Told["by"], text: string): Told {
  return { messageId: 1, seq: 1, by, text, worth: 1, isClosing: by === "agent", isOutcome: by === "agent" };
}

function isDecision(by: Told["by"], text: string): boolean {
  return decisionsIn([told(by, text)]).length === 1;
}

describe("Whoever comes back finds as decided", () => {
  it.each([
    "Never log the customer's address.",
    "please don't use a global for the pool",
    "We don't want the old flag in there anymore.",
    "let's make sure that we use metric units everywhere",
    "This should not be cached, only the list may be.",
    "agreed, let's go with one queue a tenant",
  ])("what a user says: %s", (text) => {
    expect(isDecision("user", text)).toBe(true);
  });

  it.each([
    "The fix is to close the pool before the fork.",
    "The fix: read the header twice.",
    "Both conflicts were resolved by keeping the older schema.",
    "We decided to drop the second cache.",
    "The worker now writes to a file instead of standard output.",
  ])("what an agent says: %s", (text) => {
    expect(isDecision("agent", text)).toBe(true);
  });
});

describe("Nobody is told as decided", () => {
  it.each([
    ["a step of the task", "There's a new review in notes.md, make sure you read it before you go on."],
    ["a step of the task", "Write the plan to a file, don't commit."],
    ["a purpose", "Either rename the flag or change its comment to avoid confusion."],
    ["a guess", "The merge shouldn't be too hard, please take a look"],
    ["what is so", "Drafts can never be deleted through the page."],
    ["a taste", "I don't like the second heading."],
    ["a question", "Should we never retry?"],
    ["agreement alone", "i agree that the loop is the best part."],
    ["what a program printed", "fix cmd/build/info.go:1:9: var-naming: avoid package names that meet others"],
  ])("%s of a user: %s", (_, text) => {
    expect(isDecision("user", text)).toBe(false);
  });

  it.each([
    ["that a fix is good", "The fix is straightforward."],
    ["that a fix works", "The fix is working."],
    ["where a fix is", "The fix is on line 519 of setup.go."],
    ["what a program chooses", "Callers decide how often they retry."],
    ["what is proposed", "Consider saying why the second server was chosen."],
    ["what still is", "It was still expecting the old format instead of the new one."],
    ["a line of a file", "231→ // The user opted to keep both."],
  ])("%s, said by an agent: %s", (_, text) => {
    expect(isDecision("agent", text)).toBe(false);
  });
});
