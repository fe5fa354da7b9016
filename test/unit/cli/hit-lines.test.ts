import { expect, test } from "vitest";
import { answerLines } from "../../../src/cli/commands/recall.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import type { RecallHit } from "../../../src/index.ts";
import type { AnswerSession } from "../../../src/session/aids/answer.ts";
import { FakeStream, plainTerminal } from "../../support/fake-terminal.ts";

const HIT: RecallHit = {
  messageId: 8,
  sessionId: "s",
  seq: 7,
  role: "user",
  name: "Ines",
  createdAtMs: 0,
  text: "The lock is advisory.",
  score: 1.25,
  snippet: "The lock of `test/**/*.ts` is **advisory**\u001b[2J.",
  marks: [[4, 8]],
  root: null,
  neighbors: [],
  copies: [],
};

function session(hits: Partial<RecallHit>[], asked: string | null = null): AnswerSession {
  const about = {
    sessionId: "s",
    title: "The lock",
    project: "web",
    agent: "codex",
    author: null,
    atMs: 0,
    changedFileCount: 0,
  };
  return { ...about, hits: hits.map((hit) => ({ hit: { ...HIT, ...hit }, asked, question: null })) };
}

test("a pipe gets the whole text, without marks, with the ids at the end", () => {
  const [head, ...lines] = [...answerLines([session([{}, { messageId: 9 }], "Is it locked?")], plainTerminal())];
  expect(head).toMatch(/^The lock · web · codex · 19(69|70)-\S+ · s$/);
  expect(lines).toEqual([
    "  user: Is it locked?",
    "  user Ines: The lock of test/**/*.ts is advisory␛[2J.  message:8",
    "  user: Is it locked?",
    "  user Ines: The lock of test/**/*.ts is advisory␛[2J.  message:9",
  ]);
});

test("marks become bold on a terminal with colors", () => {
  const stdout = new FakeStream({ isTTY: true });
  const terminal = new Terminal(stdout, new FakeStream(), {});
  for (const line of answerLines([session([{}])], terminal)) terminal.print(line);
  expect(stdout.text.split("\n")[1]).toContain(": The \u001b[1mlock\u001b[22m of test/**/*.ts is advisory");
});

test("five sessions of two hits fit on a screen, and no line is too long", () => {
  const long = { snippet: "a lock ".repeat(60).trim(), marks: [], did: ["npm test"] };
  const ways = [long, { ...long, messageId: 123456, copies: [{ messageId: 1, sessionId: "t", seq: 1 }] }];
  const sessions = [1, 2, 3, 4, 5].map(() => ({ ...session(ways), title: "a very long title ".repeat(9) }));
  const lines = [...answerLines(sessions, plainTerminal(80))].join("\n").split("\n");
  expect(lines.length).toBeLessThanOrEqual(22);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  expect(lines[2]).toMatch(/…\s+message:8$/);
  expect(lines[3]).toMatch(/^ {2}user Ines: a lock .*…\s+message:123456 · 1 copy$/);
});

test("a replaced hit, a superseded one and the parts of a score are told", () => {
  const parts = { words: 0.5, neighborhood: 0.25, session: 0.4, speaker: 0.2, time: 0, vector: -0.1 };
  const lines = [...answerLines([session([{ superseded: true, supersededBy: 3, parts }])], plainTerminal())];
  expect(lines[1]).toMatch(/message:8 · superseded · replaced by message:3$/);
  expect(lines[2]).toBe(
    "  score 1.250 = 0.500 words + 0.250 neighborhood + 0.400 session + 0.200 speaker + 0.000 time - 0.100 vector",
  );
});

test("an answer that may be out of date says how many files have changed since", () => {
  const [one, four] = [1, 4].map((changedFileCount) => [
    ...answerLines([{ ...session([{}]), changedFileCount }], plainTerminal()),
  ]);
  expect(one![1]).toBe("  1 file that this session touched has changed since");
  expect(four![1]).toBe("  4 files that this session touched have changed since");
  expect([...answerLines([session([{}])], plainTerminal())].join()).not.toContain("since");
});
