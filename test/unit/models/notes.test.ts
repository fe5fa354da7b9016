import { expect, test } from "vitest";
import type { Part, Role } from "../../../src/core/message.ts";
import { textOf } from "../../../src/core/text.ts";
import { NoteReader } from "../../../src/models/notes.ts";

/** The notes of the last message of a step. */
function noted(...messages: { role: Role; parts: Part[] }[]) {
  const reader = new NoteReader();
  return messages
    .map(({ role, parts }, seq) => reader.of({ id: seq, seq, stepId: 0, role, parts, text: textOf(parts) }))
    .at(-1)!;
}

const asking = (name: string, args: unknown) => {
  return { role: "assistant" as const, parts: [{ type: "tool_call", toolCallId: "c1", name, args } as Part] };
};
const answering = (content: string, isError = false) => {
  return { role: "tool" as const, parts: [{ type: "tool_result", toolCallId: "c1", content, isError } as Part] };
};

test("a call is told by what it does", () => {
  const didOf = (name: string, args: unknown) => noted(asking(name, args)).did;
  expect(didOf("read_file", { limit: 5, file_path: "/srv/app/src/main.go" })).toEqual(["read main.go"]);
  expect(didOf("Bash", { command: "go vet && go test ./... 2>&1 | head -50" })).toEqual(["go vet", "go test ./..."]);
  expect(didOf("Bash", { command: "cat src/main.go" })).toEqual(["cat src/main.go"]);
  expect(didOf("shell", { command: ["npm", "test"] })).toEqual(["npm test"]);
  expect(didOf("Grep", { pattern: "lock file" })).toEqual(["search lock file"]);
  expect(didOf("ping", { host: "a" })).toEqual(['ping {"host":"a"}']);
  expect(didOf("TodoWrite", { todos: [] })).toEqual([]);
});

test("arguments that came cut are told by the file they name", () => {
  expect(noted(asking("Edit", { text: '{"file_path": "/srv/app/clean.go", "old_st' })).did).toEqual(["edit clean.go"]);
});

test("arguments of megabytes that came cut are read from their beginning", () => {
  const args = { text: `{"file_path": "/srv/caf\\u00e9.go", "content": "${"a".repeat(9_000_000)}` };
  expect(noted(asking("Write", args)).did).toEqual(["write café.go"]);
});

test("a file that a call changes weighs more than one that it reads, and that more than one that a search lists", () => {
  expect(noted(asking("edit", { path: "a.ts", text: "x" })).files).toEqual([{ path: "a.ts", weight: 4 }]);
  expect(noted(asking("read", { path: "a.ts" })).files).toEqual([{ path: "a.ts", weight: 3 }]);
  const listed = noted(answering("a.ts\nb.ts\nc.ts\nd.ts"));
  expect(listed.files).toHaveLength(4);
  expect(listed.files[0]).toEqual({ path: "a.ts", weight: 0.2 });
});

test("a result tells of its error, or else of its last count", () => {
  const cameOf = (command: string, content: string, isError = false) =>
    noted(asking("Bash", { command }), answering(content, isError)).results;
  const error = "Error: no such table\n2 tests failed\n12 tests passed";
  expect(cameOf("npm test", error, true)).toEqual([
    { did: "npm test", outcome: "failed", line: "Error: no such table" },
  ]);
  expect(cameOf("npm test", "2 tests skipped\n12 tests passed")).toEqual([
    { did: "npm test", outcome: "ok", line: "12 tests passed" },
  ]);
  expect(cameOf("npm test", "Exit code 1\nnothing to see here, all of it\nmore", true)).toEqual([
    { did: "npm test", outcome: "failed", line: "nothing to see here, all of it" },
  ]);
  expect(cameOf("npm test", "", true)).toEqual([{ did: "npm test", outcome: "failed", line: "failed" }]);
  expect(cameOf("npm ci && npm test", "12 tests passed")).toEqual([
    { did: "npm ci", outcome: "ok", line: undefined },
    { did: "npm test", outcome: "ok", line: "12 tests passed" },
  ]);
});

test("of what was only read, an error line tells nothing, but a failure does", () => {
  const read = asking("Read", { path: "log.txt" });
  expect(noted(read, answering("Error: old")).results).toEqual([
    { did: "read log.txt", outcome: "ok", line: undefined },
  ]);
  expect(noted(read, answering("Error: no file", true)).results).toEqual([
    { did: "read log.txt", outcome: "failed", line: "Error: no file" },
  ]);
});

test("a result belongs to the call of its own step, and without its call it tells nothing", () => {
  const reader = new NoteReader();
  const read = (seq: number, stepId: number, { role, parts }: ReturnType<typeof asking | typeof answering>) =>
    reader.of({ id: seq, seq, stepId, role, parts, text: textOf(parts) }).results;
  read(0, 0, asking("Bash", { command: "go test" }));
  read(1, 1, asking("Bash", { command: "go vet" }));
  expect(read(2, 0, answering("Error: no lease", true))).toMatchObject([{ did: "go test" }]);
  expect(read(3, 3, answering("Error: no lease", true))).toEqual([]);
});

test("the end of a long output is read, too", () => {
  const output = `${"building the next of many modules\n".repeat(200)}3 tests failed, 9 tests passed`;
  const { results } = noted(asking("Bash", { command: "make" }), answering(output));
  expect(results[0]!.line).toBe("3 tests failed, 9 tests passed");
});
