import { expect, test } from "vitest";
import { hitLines } from "../../../src/cli/commands/recall.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import type { RecallHit } from "../../../src/index.ts";
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
  snippet: "The lock of test/**/*.ts is advisory.",
  marks: [[4, 8]],
  root: null,
  neighbors: [
    { messageId: 7, seq: 6, role: "assistant", snippet: "A lock\u001b[2J, says `**kwargs`." },
    { messageId: 9, seq: 8, role: "tool", name: "ls", snippet: "ok" },
  ],
  copies: [],
};

test("a pipe gets the text as it is, without marks", () => {
  const [head, ...lines] = [...hitLines(HIT, plainTerminal(), (id) => id, "The lock")];
  expect(head).toMatch(/^user Ines {2}message:8 · 19(69|70)-\S+ \S+ · session s · The lock$/);
  expect(lines).toEqual([
    "  assistant: A lock␛[2J, says `**kwargs`.",
    "The lock of test/**/*.ts is advisory.",
    "  ls: ok",
    "",
  ]);
});

test("marks become bold on a terminal with colors", () => {
  const stdout = new FakeStream({ isTTY: true });
  const terminal = new Terminal(stdout, new FakeStream(), {});
  for (const line of hitLines(HIT, terminal)) terminal.print(line);
  const lines = stdout.text.split("\n");
  expect(lines[2]).toBe("The \u001b[1mlock\u001b[22m of test/**/*.ts is advisory.");
  expect(lines[3]).toBe("\u001b[2m  ls: ok\u001b[22m");
});

test("neighbors are cut to the width of the terminal", () => {
  expect([...hitLines(HIT, plainTerminal(20))][1]).toBe("  assistant: A lock…");
});

test("copies are counted and named, and the parts of a score add up to it", () => {
  const copies = [1, 2, 3, 4, 5, 6].map((messageId) => ({ messageId, sessionId: "t", seq: messageId }));
  const parts = { words: 0.5, neighborhood: 0.25, session: 0.4, speaker: 0.2, time: 0, vector: -0.1 };
  const lines = [...hitLines({ ...HIT, neighbors: [], copies, parts }, plainTerminal())];
  expect(lines.slice(2)).toEqual([
    "6 copies: message:1 in t, message:2 in t, message:3 in t, message:4 in t, message:5 in t, …",
    "score 1.250 = 0.500 words + 0.250 neighborhood + 0.400 session + 0.200 speaker + 0.000 time - 0.100 vector",
    "",
  ]);
  const one = [...hitLines({ ...HIT, neighbors: [], copies: copies.slice(0, 1) }, plainTerminal())];
  expect(one[2]).toBe("1 copy: message:1 in t");
});
