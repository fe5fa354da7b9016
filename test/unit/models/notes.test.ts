import { expect, test } from "vitest";
import type { Part, Role } from "../../../src/core/message.ts";
import { textOf } from "../../../src/core/text.ts";
import { notesOf } from "../../../src/models/notes.ts";

function said(role: Role, text: string) {
  return notesOf({ role, text, parts: [{ type: "text", text }] });
}

function called(name: string, args: unknown) {
  const parts = [{ type: "tool_call", toolCallId: "c1", name, args } as Part];
  return notesOf({ role: "assistant", text: textOf(parts), parts });
}

function answered(content: string, isError = false) {
  return notesOf({
    role: "tool",
    text: content,
    parts: [{ type: "tool_result", toolCallId: "c1", content, isError }],
  });
}

test("a request is told in the user's words, on one line", () => {
  expect(said("user", "Move the clean command\nunder `session`.").said).toEqual([
    { kind: "request", text: "Move the clean command under `session`." },
  ]);
});

test("what only agrees is no request", () => {
  expect(said("user", "yes, go on").said).toHaveLength(1);
  expect(said("user", "yes").said).toEqual([]);
  expect(said("user", "3. 4. 5. 6. 7.").said).toEqual([]);
});

test("a short message that sets a limit is a rule, a question is none", () => {
  expect(said("user", "Never push to the main branch.").said).toEqual([
    { kind: "rule", text: "Never push to the main branch." },
  ]);
  expect(said("user", "Does it never push to the main branch?").said[0]!.kind).toBe("request");
});

test("limits far down in a long request are told besides its beginning", () => {
  const request = `Rewrite the importer. ${"It reads one file after the other and keeps all of it. ".repeat(8)}`;
  const { said: lines } = said("user", `${request}You must not touch the schema of the store.`);
  expect(lines.map(({ kind }) => kind)).toEqual(["request", "rule"]);
  expect(lines[0]!.text).toMatch(/^Rewrite the importer\. It reads .*…$/);
  expect(lines[0]!.text.length).toBeLessThanOrEqual(300);
  expect(lines[1]!.text).toBe("You must not touch the schema of the store.");
});

test("of a document that was pasted only the beginning is told", () => {
  const document = `Read this page first. ${"Workers must never wait for each other at all. ".repeat(40)}`;
  expect(said("user", document).said).toEqual([
    { kind: "request", text: expect.stringMatching(/^Read this page first\./) },
  ]);
});

test("an assistant's decisions and findings are told, its announcements are not", () => {
  const text =
    "Let me look at why the lock was never fixed. The root cause was a stale lock file in the bucket. It rained all day long, and nobody was out in the streets of the town.";
  expect(said("assistant", text).said).toEqual([
    { kind: "decision", text: "The root cause was a stale lock file in the bucket." },
  ]);
});

test("a line that only announces what follows is no finding", () => {
  expect(said("assistant", "This is what the root cause of the problem was:\n\n- a stale lock").said).toEqual([]);
});

test("a call is told by its name and what it is about", () => {
  const aboutOf = (name: string, args: unknown) => called(name, args).calls[0];
  expect(aboutOf("read_file", { limit: 5, file_path: "/srv/app/src/main.go" })).toEqual({
    callId: "c1",
    name: "read_file",
    about: "main.go",
    isCommand: false,
  });
  expect(aboutOf("Bash", { command: "go test ./... 2>&1 | head -50" })).toMatchObject({
    about: "go test ./...",
    isCommand: true,
  });
  expect(aboutOf("shell", { command: ["npm", "test"] })).toMatchObject({ about: "npm test", isCommand: true });
  expect(aboutOf("search", { words: "lock file" })).toMatchObject({ about: "lock file" });
  expect(aboutOf("todo", { items: [{ text: "later" }] })).toMatchObject({ about: "" });
  expect(aboutOf("ping", null)).toMatchObject({ about: "" });
});

test("arguments that came cut are told by the file they name", () => {
  expect(called("Edit", { text: '{"file_path": "/srv/app/clean.go", "old_st' }).calls[0]!.about).toBe("clean.go");
});

test("a file that a call changes weighs more than one that it reads, and that more than one that a search lists", () => {
  const changed = called("edit", { path: "a.ts", text: "const answer = 42;\nexport default answer;\n" });
  const read = called("read", { path: "a.ts" });
  const listed = answered("a.ts\nb.ts\nc.ts\nd.ts");
  expect(changed.files).toEqual([{ path: "a.ts", weight: 4 }]);
  expect(read.files).toEqual([{ path: "a.ts", weight: 3 }]);
  expect(listed.files).toHaveLength(4);
  expect(listed.files[0]).toEqual({ path: "a.ts", weight: 0.2 });
});

test("a result tells of its error and of its last count", () => {
  expect(answered("Error: no such table\n2 tests failed\n12 tests passed").results).toEqual([
    { callId: "c1", failed: false, error: "Error: no such table", outcome: "12 tests passed" },
  ]);
  expect(answered("nothing to see here, all of it\nmore", true).results).toEqual([
    { callId: "c1", failed: true, error: "nothing to see here, all of it", outcome: undefined },
  ]);
});

test("a call that the user did not allow has no result", () => {
  expect(answered("The user doesn't want to proceed with this tool use.", true).results).toEqual([]);
  expect(answered("Request interrupted by user for tool use", true).results).toEqual([]);
  expect(answered("The user doesn't want to proceed with this tool use.").results).toHaveLength(1);
});

test("the end of a long output is read, too", () => {
  const { results } = answered(`${"building the next of many modules\n".repeat(200)}3 tests failed, 9 tests passed`);
  expect(results[0]!.outcome).toBe("3 tests failed, 9 tests passed");
});

test("of a message in very many parts only the beginning is read", () => {
  const text = "We decided to use SQLite for the store.";
  let readCount = 0;
  const part: Part = {
    type: "text",
    get text() {
      readCount += 1;
      return text;
    },
  };
  const { said: told } = notesOf({ role: "assistant", text, parts: Array<Part>(10_000).fill(part) });
  expect(told[0]).toEqual({ kind: "decision", text });
  expect(readCount).toBeLessThan(50); // 1,500 characters
});
