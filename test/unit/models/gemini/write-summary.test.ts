import { expect, test } from "vitest";
import type { GroundedClaim } from "../../../../src/models/gemini/grounding.ts";
import { type GroundedAnswer, mostImportant, writeSummary } from "../../../../src/models/gemini/write-summary.ts";
import { Pace } from "../../../../src/models/pace.ts";
import { turnsDuring } from "../../../support/turns.ts";

const pace = new Pace(new AbortController().signal);

const claim = (text: string, ...seqs: number[]): GroundedClaim => ({ text, seqs, isVerified: true });
const unverified = (text: string, ...seqs: number[]): GroundedClaim => ({ text, seqs, isVerified: false });

const ANSWER: GroundedAnswer = {
  summary: [claim("The host was changed.", 3), claim("The login page answered 500.", 1, 2)],
  decisions: [unverified("Wait 9 days.", 5), claim("The old host stays.", 5)],
  openQuestions: [claim("Who removes it?", 6)],
  identifiers: [claim("LOGIN_DB_URL", 3)],
  files: [claim("config/production.yaml", 3), claim("src/login.ts", 1)],
};

const within = (charsMax: number) => writeSummary(ANSWER, (text) => text.length <= charsMax, pace);

test("what happened in its order, what was decided, what is open, then names and files", async () => {
  expect((await within(1_000)).split("\n")).toEqual([
    "The login page answered 500. [1-2]",
    "The host was changed. [3]",
    "Decided: Wait 9 days. [unverified] [5]",
    "Decided: The old host stays. [5]",
    "Open: Who removes it? [6]",
    "names: LOGIN_DB_URL [3]",
    "files: config/production.yaml [3], src/login.ts [1]",
  ]);
});

test("where room is short: decisions, open questions, what happened, what is not verified, names, files", async () => {
  const texts = await Promise.all([32, 58, 84, 119, 158, 182, 217].map(within));
  const kept = texts.map((text) => text.split("\n").map((line) => line.slice(0, 13)));
  expect(kept).toEqual([
    ["Decided: The "],
    ["Decided: The ", "Open: Who rem"],
    ["The host was ", "Decided: The ", "Open: Who rem"],
    ["The login pag", "The host was ", "Decided: The ", "Open: Who rem"],
    ["The login pag", "The host was ", "Decided: Wait", "Decided: The ", "Open: Who rem"],
    ["The login pag", "The host was ", "Decided: Wait", "Decided: The ", "Open: Who rem", "names: LOGIN_"],
    [
      "The login pag",
      "The host was ",
      "Decided: Wait",
      "Decided: The ",
      "Open: Who rem",
      "names: LOGIN_",
      "files: config",
    ],
  ]);
});

test("what is too long does not keep out what is shorter", async () => {
  const answer = { ...ANSWER, decisions: [claim("x".repeat(500), 1), claim("Short.", 2)] };
  expect(await writeSummary(answer, (text) => text.length <= 20, pace)).toBe("Decided: Short. [2]");
});

test("where no statement fits, the beginning of the most important one, with its mark and its seqs", async () => {
  expect(await within(15)).toBe("The old… [5]");
  const answer = { ...ANSWER, summary: [], decisions: [unverified("Wait for 9 days.", 5)], openQuestions: [] };
  const bare = { ...answer, identifiers: [], files: [] };
  expect(await writeSummary(bare, (text) => text.length <= 27, pace)).toBe("Wait for… [unverified] [5]");
});

test("where there is no room for a word with its mark and its seqs, nothing", async () => {
  expect(await within(6)).toBe("T… [5]");
  expect(await within(5)).toBe("");
  expect(await within(0)).toBe("");
});

test("there is room for a verified decision before all else, and for anything if there is nothing else", async () => {
  expect(mostImportant(ANSWER)?.text).toBe("The old host stays.");
  expect(mostImportant({ ...ANSWER, decisions: [unverified("Wait.", 5)] })?.text).toBe("Who removes it?");
  const none: GroundedAnswer = { summary: [], decisions: [], openQuestions: [], identifiers: [], files: [] };
  expect(mostImportant({ ...none, summary: [unverified("a")] })?.text).toBe("a");
  expect(mostImportant(none)).toBeUndefined();
  expect(await writeSummary(none, () => true, pace)).toBe("");
});

test("many claims are tried with pauses in which others run", async () => {
  const answer = { ...ANSWER, summary: Array.from({ length: 400 }, (_, seq) => claim(`Thing ${seq} happened.`, seq)) };
  // About 400 characters of text and 400 claims to look through, 400 times; 16,000 between two pauses.
  expect(await turnsDuring(writeSummary(answer, (text) => text.length <= 400, pace))).toBeGreaterThanOrEqual(15);
});
