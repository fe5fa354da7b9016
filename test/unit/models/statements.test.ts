import { describe, expect, test } from "vitest";
import { firstLineOf, lineOf, statementOfLine, statementsOf } from "../../../src/models/statements.ts";
import type { SourceText } from "../../../src/models/summarizer.ts";

function source(role: SourceText["role"], text: string, name?: string): SourceText {
  return { seq: 0, role, text, createdAtMs: 0, ...(name === undefined ? {} : { name }) };
}

/** The lines of a message's statements. */
function linesOf(role: SourceText["role"], text: string, name?: string): string[] {
  return statementsOf(source(role, text, name), false).map(lineOf);
}

/** What one statement of one message is worth. */
function worthOf(role: SourceText["role"], text: string, closing = false): number {
  return statementsOf(source(role, text), closing)[0]!.value;
}

describe("statementsOf", () => {
  test("names who spoke, unless it is plainly the model", () => {
    expect(linesOf("user", "Rename it.")).toEqual(["user: Rename it."]);
    expect(linesOf("assistant", "It is renamed.")).toEqual(["It is renamed."]);
    expect(linesOf("user", "Rename it.", "egamma")).toEqual(["egamma: Rename it."]);
    expect(linesOf("assistant", "It is renamed.", "reviewer")).toEqual(["reviewer: It is renamed."]);
    expect(linesOf("tool", "3 issues:", "lint")).toEqual(["tool: 3 issues:"]);
    expect(linesOf("user", "Rename it.", " \n")).toEqual(["user: Rename it."]);
  });

  test("keeps a placeholder in angle brackets, and takes off tags that wrap something", () => {
    expect(linesOf("user", "Locks are in locks/backup-<host>.json now.")).toEqual([
      "user: Locks are in locks/backup-<host>.json now.",
    ]);
    expect(linesOf("user", "<quote>Rename it now.</quote>")).toEqual(["user: Rename it now."]);
  });

  test("leaves out what a harness adds to the user's words", () => {
    const text = "<system-reminder>Never say this.</system-reminder>Rename <b>it</b> now.";
    expect(linesOf("user", text)).toEqual(["user: Rename it now."]);
    const nested = "<system-reminder>a <system-reminder>b</system-reminder>Rename it.";
    expect(linesOf("user", nested)).toEqual(["user: Rename it."]);
    expect(linesOf("user", "<system-reminder>open for ever")).toEqual(["user: <system-reminder>open for ever"]);
  });

  test("takes from output its errors and counts alone", () => {
    const text =
      "src/a.ts\nerror('x');\n  12→ throw new Error('x')\nmain.go:3:1: undefined: x\nTests  2 failed | 40 passed (42)";
    expect(linesOf("tool", text)).toEqual(["tool: main.go:3:1: undefined: x", "tool: Tests 2 failed | 40 passed (42)"]);
  });

  test("takes errors from code that someone pasted", () => {
    expect(linesOf("user", "It says\n```\nconst a = 1;\nTypeError: a is not a function\n```")).toEqual([
      "user: It says",
      "user: TypeError: a is not a function",
    ]);
  });

  test("tells a call by its name, its first argument and its reason", () => {
    const text = "I'll run the tests of the parser.\nrun_shell\nnpm test -- parser\nCheck that the parser still works";
    expect(linesOf("assistant", text)).toEqual([
      "I'll run the tests of the parser.",
      "call: run_shell npm test -- parser (Check that the parser still works)",
    ]);
  });

  test("tells calls of one tool apart", () => {
    expect(linesOf("assistant", "run_shell\nnpm test\nrun_shell\nnpm run build")).toEqual([
      "call: run_shell npm test",
      "call: run_shell npm run build",
    ]);
  });

  test("needs no reason for a call that begins with one", () => {
    expect(linesOf("assistant", "task\nReview the parser for errors\nRead all of it.\nReport what you find.")).toEqual([
      "call: task Review the parser for errors",
    ]);
  });

  test("says nothing of a call on a file, which the working set lists, nor of the code it writes", () => {
    expect(linesOf("assistant", "read_file\nsrc/a.ts")).toEqual([]);
    expect(linesOf("assistant", "write_file\nsrc/a.ts\n// The lock is held by the store.\nconst a = 1;")).toEqual([]);
  });

  test("lists what is left of the model's tasks, the newest list standing for the older", () => {
    const list = "todo_write\nRead the code\ncompleted\nFix the lock\nin_progress\nRun the tests\npending";
    const [first] = statementsOf(source("assistant", list), false);
    expect(lineOf(first!)).toBe("todo: Fix the lock (in progress); Run the tests");
    const [second] = statementsOf(source("assistant", "todo_write\nRead the code\ncompleted"), false);
    expect(lineOf(second!)).toBe("todo: all done");
    expect(second!.key).toBe(first!.key);
  });

  test("takes a name before a list for a heading, not for a call", () => {
    expect(linesOf("assistant", "Summary\n- The lock is held by the store.\n- The tests pass again.")).toContain(
      "The lock is held by the store.",
    );
  });

  test("values the user above the model, conclusions above narration, and announcements least", () => {
    const user = worthOf("user", "Take the second region.");
    const conclusion = worthOf("assistant", "The root cause is the region.");
    const plain = worthOf("assistant", "The region has three zones.");
    const announcement = worthOf("assistant", "Let me look at the region.");
    expect([user, conclusion, plain, announcement]).toEqual([3, 1.7, 1, 0.3]);
  });

  test("values the model's last words before the user speaks", () => {
    expect(worthOf("assistant", "The region has three zones.", true)).toBe(1.5);
  });

  test("values later statements of a message less, and headings and leading lines little", () => {
    const many = statementsOf(source("user", "- some item of a list\n".repeat(13)), false);
    expect(many[12]!.value).toBeCloseTo(1.5);
    expect(worthOf("user", "# Plan for the region")).toBeCloseTo(0.9);
    expect(worthOf("user", "These are left to do:")).toBeCloseTo(0.9);
  });

  test("takes verdicts and errors for the same at another time", () => {
    const keysOf = (text: string) => statementsOf(source("tool", text), false).map(({ key }) => key);
    expect(keysOf("Tests 1 failed | 41 passed (42)")).toEqual(keysOf("Tests 42 passed (42)"));
    expect(keysOf("3 issues:")).toEqual(keysOf("0 issues."));
    expect(keysOf("[main 1a2b3c4] Move the lock")).not.toEqual(keysOf("[main 5d6e7f8] Move the key"));
    expect(keysOf("main.go:3:1: undefined: x")).toEqual(keysOf("main.go:9:4: undefined: x"));
    expect(keysOf("Error: disk full")).not.toEqual(keysOf("Error: disk gone"));
  });

  test("cuts links and encoded data short", () => {
    const [line] = linesOf("user", `See https://example.org/${"a".repeat(100)} and ${"QUJD".repeat(100)} there.`);
    expect(line).toBe(`user: See https://example.org/${"a".repeat(48)}… and ${"QUJD".repeat(10)}… there.`);
  });

  test("never cuts within a character", () => {
    const url = `https://example.org/${"😀".repeat(80)}`;
    expect(linesOf("user", `See ${url} there.`)[0]).toBe(`user: See https://example.org/${"😀".repeat(48)}… there.`);
    expect(linesOf("user", "Rename it.", "😀".repeat(30))[0]).toBe(`${"😀".repeat(19)}…: Rename it.`);
  });
});

describe("statementOfLine", () => {
  test.each([
    "user: Take the second region.",
    "tool: Error: disk full",
    "todo: Fix the lock",
    "call: run_shell npm test",
    "The root cause is the region.",
    "egamma: I agree.",
  ])("reads back %s", (line) => expect(lineOf(statementOfLine(line))).toBe(line));

  test("values a line as the statement it was", () => {
    expect(statementOfLine("user: Take the second region.").value).toBe(3);
    expect(statementOfLine("The root cause is the region.").value).toBe(1.7);
    expect(statementOfLine("Let me look at the region.").value).toBe(0.3);
    expect(statementOfLine("call: run_shell npm test").value).toBe(0.15);
  });

  test("takes a task list and a count for the ones that come later", () => {
    const [later] = statementsOf(source("tool", "Tests 0 failed (43)"), false);
    expect(statementOfLine("tool: Tests 2 failed (42)").key).toBe(later!.key);
  });
});

describe("firstLineOf", () => {
  test("is the first line that has words", () => {
    expect(firstLineOf(source("tool", "---\n  total 64\nmore")).map(lineOf)).toEqual(["tool: total 64"]);
    expect(firstLineOf(source("tool", "---\n…"))).toEqual([]);
  });
});
