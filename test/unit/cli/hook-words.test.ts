import { describe, expect, test } from "vitest";
import { hookWords } from "../../../src/cli/hook-words.ts";

const typed = () => true;
const piped = () => false;

describe("a call of a hook", () => {
  test.each([
    ["hook prompt --agent codex", { event: "prompt", agent: "codex", db: undefined }],
    ["hook --agent codex prompt", { event: "prompt", agent: "codex", db: undefined }],
    ["--db a.db hook --agent=codex prompt", { event: "prompt", agent: "codex", db: "a.db" }],
    ["--json --color never hook of --new", { event: "of", agent: undefined, db: undefined }],
    ["hook", { event: undefined, agent: undefined, db: undefined }],
    ["hook --agent", { event: undefined, agent: undefined, db: undefined }],
  ])("is `%s`, whatever it names", (words, call) => {
    expect(hookWords(words.split(" "), piped)).toEqual(call);
  });

  test.each([
    "recall hook",
    "help hook",
    "--db hook sessions",
    "hook --help",
    "hook prompt -h",
    "hook off",
    "hook status",
  ])("is not `%s`", (words) => expect(hookWords(words.split(" "), piped)).toBe(undefined));

  test("is not what a person has mistyped, who is told", () => {
    expect(hookWords(["hook", "of"], typed)).toBe(undefined);
    expect(hookWords(["hook", "prompt", "--agent", "pi"], typed)).toMatchObject({ event: "prompt" });
  });
});
