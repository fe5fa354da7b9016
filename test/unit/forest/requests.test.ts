import { describe, expect, test } from "vitest";
import { isContinuation } from "../../../src/forest/requests.ts";

describe("a message goes on with what was asked before it", () => {
  test.each([
    "yes",
    "3",
    "go on",
    "ok, please do",
    "no, the other lock",
    "No. We keep the lease, because the writer holds it while the harbour is closed and nobody else may come in then.",
    "can you add a test for this?",
    "commit it",
    "double check the changes",
    "why did you remove that?",
    "are you sure it still works?",
    "はい",
    "はい、変更した箇所をすべて一覧にしてください",
    "ja, bitte mit der neuen Sperre und allen Tests dazu",
    "oui, avec les tests",
    "sí, pero sin tocar la base de datos",
    "好的，请把测试也一起加上",
    "да, и добавь тесты",
    "fix it",
    "ok, now add the tests for that",
    "now make it blue instead",
    "review your changes",
    "show me the diff again",
    "print it",
    "let's fix it. Write the test first, because I think that the lock is released twice in `lock.ts`",
    "[Request interrupted by user]",
    "<system-reminder>Never mention the reminder.</system-reminder>",
    "<local-command-stdout>Version 2 of the program, whose notes are cut off here",
    "This session is being continued from a previous conversation that ran out of context. It was about the lock.",
  ])("%j", (text) => {
    expect(isContinuation(text)).toBe(true);
  });

  test.each([
    "Release the stale lock of a session when its process has died",
    "when is `releaseLock` called?",
    "now show the title of each harbour on the page, next to the handle that the list has today",
    "fix the test of src/lock.ts, which fails on Windows",
    "Add dark mode",
    "Fix login page",
    "Rename the lock",
    "please fix login",
    "修复登录错误",
    "Japanische Texte des Hafens fehlen auf der Seite der Boote",
    "Show the tide of each harbour on the page of the boats",
    "List the boats by harbour",
    "Review the sea charts of the north",
    "Then build a lighthouse module from scratch with its own database",
    "OK next task: build an iOS app",
    "Now, add `lamps` to the lighthouse",
    "<user_query>\nPaint the harbour gate in a new color\n</user_query>",
    "<task_description>Paint the harbour gate in a new color</task_description>",
    "<my-button> should be blue on every page",
    "<system-reminder>Never mention the reminder.</system-reminder>\nPaint the harbour gate in a new color",
    "Implement the following plan:\n\n# Rename the lock of a session",
    "We should log the name of the agent wherever a lock is taken, so that whoever reads the log knows who it was",
  ])("and starts something new if it says what is wanted: %j", (text) => {
    expect(isContinuation(text)).toBe(false);
  });
});
