import { expect, test } from "vitest";
import { partsLines } from "../../../src/cli/screen/message-lines.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { FakeStream } from "../../support/fake-terminal.ts";

const terminal = new Terminal(new FakeStream(), new FakeStream(), {});

const COMMAND = 'git commit -m "One\n\nTwo"';
const LONG = "x".repeat(101);

test.each<[string, unknown, string[]]>([
  [
    "a command has its lines, below its description",
    { command: COMMAND, description: "Commit it", timeout: 9 },
    ["→ T: Commit it (timeout: 9) call c", '  git commit -m "One\n\n  Two"'],
  ],
  [
    "a change has the lines of its texts",
    { path: "a.ts", old: "one\ntwo", new: LONG, all: false },
    ["→ T (path: a.ts, all: false) call c", "  old:", "  one\n  two", "  new:", `  ${LONG}`],
  ],
  ["lists and objects are JSON", { todos: [{ text: "a" }] }, ['→ T (todos: [{"text":"a"}]) call c']],
  [
    "a description of several lines is an argument",
    { description: "a\nb" },
    ["→ T call c", "  description:", "  a\n  b"],
  ],
  [
    "a command of words is a line",
    { cmd: ["bash", "-lc", "ls"], description: "" },
    ["→ T (description: ) call c", "  bash -lc ls"],
  ],
  ["no arguments", {}, ["→ T call c"]],
  ["arguments that are no object", "free text", ['→ T "free text" call c']],
])("%s", (_, args, lines) => {
  const call = { type: "tool_call" as const, toolCallId: "c", name: "T", args: args as never };
  expect([...partsLines([call], terminal)]).toEqual(lines);
});
