import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/core/message.ts";
import { actionsIn, actionsOfStep, insertedBy, replacedBy } from "../../../src/models/actions.ts";
import { errorSignature } from "../../../src/models/error-signature.ts";
import { processorMsSince } from "../../support/processor-time.ts";

function told(name: string, args: unknown, text?: string, isError: boolean | null = false): string[] {
  const result = text === undefined ? undefined : { text, isError: isError ?? undefined };
  return actionsIn({ name, args }, result).map(({ kind, target, outcome }) => `${kind} ${target} ${outcome}`);
}

describe("the calls of each agent", () => {
  test.each([
    ["Read", { file_path: "/w/a.ts" }, "read /w/a.ts ok"],
    ["Edit", { file_path: "/w/a.ts", old_string: "a", new_string: "b" }, "edit /w/a.ts ok"],
    ["MultiEdit", { file_path: "/w/a.ts", edits: [] }, "edit /w/a.ts ok"],
    ["Write", { file_path: "/w/a.ts", content: "" }, "write /w/a.ts ok"],
    ["NotebookEdit", { notebook_path: "/w/a.ipynb", new_source: "" }, "edit /w/a.ipynb ok"],
    ["Bash", { command: "npm test", description: "Run the tests" }, "run npm test ok"],
    ["Grep", { pattern: "lock", path: "/w" }, "search lock ok"],
    ["Glob", { pattern: "**/*.ts" }, "search **/*.ts ok"],
    ["WebFetch", { url: "https://example.org/a", prompt: "Read" }, "fetch https://example.org/a ok"],
    ["WebSearch", { query: "lease" }, "search lease ok"],
    ["Task", { description: "Find the lock", prompt: "Look for it" }, "task Find the lock ok"],
    ["run_shell_command", { command: "ls", directory: "/w" }, "run ls ok"],
    ["read_file", { absolute_path: "/w/a.ts" }, "read /w/a.ts ok"],
    ["replace", { file_path: "/w/a.ts", old_string: "a", new_string: "b" }, "edit /w/a.ts ok"],
    ["write_file", { file_path: "/w/a.ts", content: "" }, "write /w/a.ts ok"],
    ["search_file_content", { pattern: "lock" }, "search lock ok"],
    ["list_directory", { path: "/w/src" }, "search /w/src ok"],
    ["shell", { command: ["bash", "-lc", "go test ./..."] }, "run go test ./... ok"],
    ["exec_command", { cmd: "go vet" }, "run go vet ok"],
    ["local_shell", { type: "exec", command: ["git", "status"] }, "run git status ok"],
    ["bash", { command: "make" }, "run make ok"],
    ["edit", { filePath: "/w/a.ts", oldString: "a", newString: "b" }, "edit /w/a.ts ok"],
    ["str_replace_based_edit_tool", { command: "view", path: "/w/a.ts" }, "read /w/a.ts ok"],
    ["str_replace_based_edit_tool", { command: "create", path: "/w/a.ts" }, "write /w/a.ts ok"],
    ["str_replace_based_edit_tool", { command: "str_replace", path: "/w/a.ts" }, "edit /w/a.ts ok"],
    ["mcp__files__read_text_file", { path: "/w/a.ts" }, "read /w/a.ts ok"],
    ["mcp__github__search_code", { query: "lease" }, "search lease ok"],
    ["functions.exec_command", { cmd: "ls" }, "run ls ok"],
    ["view", { path: "./a.ts" }, "read a.ts ok"],
    ["read", { path: "C:\\w\\a.ts" }, "read C:/w/a.ts ok"],
    ["create_file", { filePath: "/w/a.ts", content: "" }, "write /w/a.ts ok"],
    ["replace_string_in_file", { filePath: "/w/a.ts", oldString: "a", newString: "b" }, "edit /w/a.ts ok"],
    ["insert_edit_into_file", { filePath: "/w/a.ts", code: "b" }, "edit /w/a.ts ok"],
    ["run_in_terminal", { command: "make", explanation: "Build" }, "run make ok"],
    ["copilot_readFile", { filePath: "/w/a.ts", message: "Reading" }, "read /w/a.ts ok"],
    ["developer__shell", { command: "make" }, "run make ok"],
    ["developer__text_editor", { command: "write", path: "/w/a.ts", file_text: "b" }, "write /w/a.ts ok"],
    ["developer__edit", { path: "/w/a.ts", before: "a", after: "b" }, "edit /w/a.ts ok"],
    ["Execute", { command: "make", riskLevel: "low" }, "run make ok"],
    ["Create", { file_path: "/w/a.ts", content: "b" }, "write /w/a.ts ok"],
    ["LS", { directory_path: "/w/src" }, "search /w/src ok"],
    ["Glob", { patterns: ["*.ts"], folder: "/w" }, "search *.ts ok"],
    ["FetchUrl", { url: "https://example.org/a" }, "fetch https://example.org/a ok"],
    ["Shell", { command: "make" }, "run make ok"],
    ["StrReplaceFile", { path: "/w/a.ts", edit: { old: "a", new: "b" } }, "edit /w/a.ts ok"],
    ["SearchWeb", { query: "lease" }, "search lease ok"],
    ["Bash", { cmd: "make", cwd: "/w" }, "run make ok"],
    ["glob", { filePattern: "*.ts" }, "search *.ts ok"],
    ["finder", { query: "lease" }, "search lease ok"],
    ["terminal", { command: "make", cd: "w" }, "run make ok"],
    ["find_path", { glob: "*.ts" }, "search *.ts ok"],
    ["semantic_search", { query: "lease" }, "search lease ok"],
  ])("%s %j", (name, args, expected) => {
    expect(told(name, args, "fine")).toEqual([expected]);
  });

  test("arguments may be JSON as a text, also if the text was cut", () => {
    expect(told("Edit", '{"file_path": "/w/a.ts", "old_string": "x\\"', "fine")).toEqual(["edit /w/a.ts ok"]);
    expect(told("shell", '{"command": "make all"}', "fine")).toEqual(["run make all ok"]);
  });

  test("a patch is an action for each of its files", () => {
    const patch =
      "*** Begin Patch\n*** Add File: b.ts\n+x\n*** Update File: src/a.ts\n@@\n-x\n+y\n*** Delete File: c.ts\n*** End Patch";
    const files = ["write b.ts ok", "edit src/a.ts ok", "edit c.ts ok"];
    expect(told("apply_patch", { input: patch }, "Done")).toEqual(files);
    expect(told("apply_patch", patch, "Done")).toEqual(files);
    expect(told("shell", { command: ["apply_patch", patch] }, "Done")).toEqual(files);
    const edit = (filePath: string) => ({ filePath, oldString: "x", newString: "y" });
    const replacements = [edit("src/a.ts"), edit("src/a.ts"), edit("c.ts")];
    expect(told("multi_replace_string_in_file", { replacements }, "Done")).toEqual(files.slice(1));
    expect(told("file_change", { changes: [{ path: "a.ts", kind: "update" }] }, "Done")).toEqual(["edit a.ts ok"]);
  });

  test("a file that holds a patch is written, and not the files of the patch", () => {
    const content = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n+x\n*** End Patch";
    expect(told("Write", { file_path: "test/patch.test.ts", content }, "ok")).toEqual(["write test/patch.test.ts ok"]);
    expect(told("Task", { description: "Apply it", prompt: `Apply this:\n${content}` }, "ok")).toEqual([
      "task Apply it ok",
    ]);
  });

  test("a tool of another kind is run under its name", () => {
    expect(told("mcp__github__create_issue", { title: "Lease" }, "1")).toEqual([
      'run mcp__github__create_issue {"title":"Lease"} ok',
    ]);
  });

  test.each(["TodoWrite", "SetTodoList", "update_plan", "ExitPlanMode", "AskUserQuestion", "think"])(
    "%s is no action",
    (name) => {
      expect(told(name, { todos: [], question: "?" }, "ok")).toEqual([]);
    },
  );
});

describe("a command line", () => {
  test("names each program that works, and the files that these print, change or write", () => {
    expect(told("Bash", { command: "cd web && npm ci && npm test 2>&1 | tail -5" }, "12 passed")).toEqual([
      "run npm ci ok",
      "run npm test ok",
    ]);
    expect(told("Bash", { command: "cat src/a.ts | head -5" }, "x")).toEqual([
      "run cat src/a.ts ok",
      "read src/a.ts ok",
    ]);
    expect(told("Bash", { command: "sed -i 's/a/b/' src/a.ts" }, "")).toEqual([
      "run sed -i 's/a/b/' src/a.ts ok",
      "edit src/a.ts ok",
    ]);
    expect(told("Bash", { command: "cat > b.md <<EOF\nx\nEOF" }, "")).toEqual(["run cat ok", "write b.md ok"]);
    expect(told("Bash", { command: "cd web" }, "")).toEqual(["run cd web ok"]);
  });

  test("failed if its last program did, and then nobody knows about the others", () => {
    expect(told("Bash", { command: "npm ci && npm test" }, "Exit code 1\nFAIL a.test.ts", true)).toEqual([
      "run npm ci unknown",
      "run npm test failed",
    ]);
  });

  test("that failed is blamed on the program that the error names", () => {
    const command = "pnpm install && make check";
    expect(told("Bash", { command }, "Exit code 127\nbash: pnpm: command not found", true)).toEqual([
      "run pnpm install failed",
      "run make check unknown",
    ]);
    expect(told("Bash", { command: "npm test && npm run build; echo done" }, "TypeError: no lease")).toEqual([
      "run npm test unknown",
      "run npm run build failed",
    ]);
    expect(told("Bash", { command: "npm test; npm run build" }, "Exit code 1\nTypeError: no lease", true)).toEqual([
      "run npm test unknown",
      "run npm run build failed",
    ]);
  });

  test("failed if its output reports an error and the exit status is that of a filter", () => {
    expect(told("Bash", { command: "go test ./... | tail -3" }, "--- FAIL: TestLease (0.1s)")).toEqual([
      "run go test ./... failed",
    ]);
    expect(told("Bash", { command: "go test ./..." }, "--- FAIL: TestLease (0.1s)")).toEqual(["run go test ./... ok"]);
  });

  test("failed if its output reports an error and its agent tells no status", () => {
    const outcomeOf = (command: string, text: string) => told("Bash", { command }, text, null);
    expect(outcomeOf("go test ./...", "--- FAIL: TestLease (0.1s)")).toEqual(["run go test ./... failed"]);
    expect(outcomeOf("go test ./...", "FAIL lease\nProcess exited with code 0")).toEqual(["run go test ./... ok"]);
    expect(outcomeOf("go test ./...", "ok lease 0.1s")).toEqual(["run go test ./... ok"]);
    expect(outcomeOf("git push && git log", "error: failed to push some refs")[0]).toBe("run git push failed");
  });

  test("did not fail if it looked for something that is not there", () => {
    const nothing = { output: "", metadata: { exit_code: 1, duration_seconds: 0 } };
    expect(told("shell", { command: ["bash", "-lc", "rg lease src"] }, JSON.stringify(nothing), null)).toEqual([
      "run rg lease src ok",
    ]);
    expect(told("Bash", { command: "cd web && grep -r lease src" }, "Exit code 1", true)).toEqual([
      "run grep -r lease src ok",
    ]);
    expect(told("Bash", { command: "npm test" }, "Exit code 1", true)).toEqual(["run npm test failed"]);
    expect(told("Bash", { command: "rg '('" }, "Exit code 2\nregex parse error", true)).toEqual(["run rg '(' failed"]);
  });

  test("did not fail if it prints an error that others wrote", () => {
    expect(told("Bash", { command: "grep -h lease log.txt | tail -3" }, "Error: the lease has ended")).toEqual([
      "run grep -h lease log.txt ok",
    ]);
    expect(told("Bash", { command: "cat log.txt" }, "cat: log.txt: No such file or directory", null)[0]).toBe(
      "run cat log.txt failed",
    );
  });
});

describe("an outcome", () => {
  test.each([
    ["Exit code 1\nno", true, "failed"],
    ["Process exited with code 2\nno", false, "failed"],
    ["Process exited with code 0\nyes", false, "ok"],
    ['{"output":"no","metadata":{"exit_code":1,"duration_seconds":1}}', false, "failed"],
    ['{"output":"yes","metadata":{"exit_code":0}}', false, "ok"],
    ["yes\n<shellId: 0 completed with exit code 0>", false, "ok"],
    ["no\n<shellId: 0 completed with exit code 3>", false, "failed"],
    ["no\n\nCommand exited with code 1", false, "failed"],
    ["Output: no\nExit Code: 1", false, "failed"],
    ["The user doesn't want to proceed with this tool use.", true, "unknown"],
    ["[Request interrupted by user for tool use]", true, "unknown"],
    ["<tool_use_error>Sibling tool call errored</tool_use_error>", true, "unknown"],
    ["Cancelled: parallel tool call Bash(make) errored", true, "unknown"],
    ["Permission for this tool use was denied. The tool use was rejected.", true, "unknown"],
    ["1→Process exited with code 3 in tests", false, "ok"],
    ["first\nexit code: 1\nlast", false, "ok"],
    ["The word exit code is in this sentence of 9 words.", false, "ok"],
  ])("%j is %s", (text, isError, outcome) => {
    expect(told("bash", { command: "x" }, text, isError)).toEqual([`run x ${outcome}`]);
  });

  test("is unknown without a result", () => {
    expect(told("bash", { command: "x" })).toEqual(["run x unknown"]);
  });
});

describe("an error", () => {
  const errorOf = (text: string): string | null =>
    actionsIn({ name: "bash", args: { command: "x" } }, { text, isError: true })[0]!.error;

  test("is the same wherever and whenever it occurs", () => {
    const here = errorOf("Exit code 1\n$ tsc\nsrc/store/open.ts(12,5): error TS2304: Cannot find name 'lease'.");
    const there = errorOf("C:\\w\\open.ts(7,1): error TS2304: Cannot find name 'lease'.");
    expect(here).toBe("TS2304: Cannot find name lease.");
    expect(there).toBe(here);
    expect(errorOf("2026-11-01 10:00 Error: connect ECONNREFUSED 127.0.0.1:5432")).toContain("connect ECONNREFUSED");
  });

  test("is the same with quotes, colors and a path of another machine, or without them", () => {
    const known = errorOf("Error: Cannot find module '/home/ada/web/lease.js'");
    expect(errorOf("\u001b[31mError:\u001b[0m Cannot find module /srv/lease.js")).toBe(known);
    expect(errorOf('Error: Cannot find module "/srv/lease.js"')).toBe(known);
    expect(errorOf("Error: the lease can't be renewed")).toContain("can't");
  });

  test("is looked for in no time, although the output repeats what an agent writes around it", () => {
    const text = `Command: x\n${"Output: y\nError: z\n".repeat(20_000)}`;
    const startedAt = performance.now();
    actionsIn({ name: "shell", args: { command: "npm test" } }, { text });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  test("is read out of what an agent writes around the output", () => {
    const expected = "TypeError: lease.until is not a function";
    const printed = `TypeError: lease.until is not a function`;
    for (const text of [
      JSON.stringify({ output: `\n${printed}\n`, metadata: { exit_code: 1, duration_seconds: 0.1 } }),
      `Exit code: 1\nWall time: 0.1 seconds\nOutput:\n${printed}`,
      `Chunk ID: 2cd4b6\nWall time: 0.05 seconds\nProcess exited with code 1\nOriginal token count: 8\nOutput:\n${printed}\n`,
      `Command: x\nDirectory: (root)\nOutput: (empty)\nError: ${printed}\nExit Code: 1\nSignal: 0`,
    ]) {
      const [action] = actionsIn({ name: "shell", args: { command: "npm test" } }, { text });
      expect([action!.outcome, action!.error], text).toEqual(["failed", expected]);
    }
  });

  test("of Python is the last line of its traceback", () => {
    expect(errorOf("Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'lease_seconds'")).toBe(
      "KeyError: lease_seconds",
    );
  });

  test("in a long line takes no long time", () => {
    for (const piece of ["a-", "aaaa", "1.1.", "a1b2c3-", "x://"]) {
      const from = process.cpuUsage();
      errorOf(piece.repeat(20_000));
      expect(processorMsSince(from), piece).toBeLessThan(500);
    }
  });

  test("that says nothing has no signature", () => {
    const names = ["--- FAIL: TestLeaseEndsInTime (0.1s)", "=== RUN TestLeaseEndsInTime"];
    for (const text of ["Exit code 1", "Command failed", "", "FAIL 3", ...names])
      expect(errorOf(text), text).toBe(null);
    expect(errorSignature("12:30 /a/b.ts 0xff")).toBe(undefined);
  });
});

test("each call of a step has the result with its id", () => {
  const call = (toolCallId: string, command: string) => ({
    type: "tool_call" as const,
    toolCallId,
    name: "bash",
    args: { command },
  });
  const result = (toolCallId: string, content: string, isError = false) => {
    return { type: "tool_result" as const, toolCallId, content, isError };
  };
  const actions = actionsOfStep([
    {
      id: 7,
      parts: [{ type: "text", text: "I run both." }, call("a", "make"), call("b", "make test"), call("c", "ls")],
    },
    { id: 8, parts: [result("b", "Exit code 2\nmake: no rule to make the target lease", true)] },
    { id: 9, parts: [result("a", "done")] },
  ]);
  expect(actions.map(({ ordinal, part, resultId, outcome }) => [ordinal, part, resultId, outcome])).toEqual([
    [0, 1, 9, "ok"],
    [1, 2, 8, "failed"],
    [2, 3, null, "unknown"],
  ]);
});

test("calls of Coppice itself are no work", () => {
  const parts = ["mcp__coppice__past_work", "mcp__other__past_work"].map((name) => {
    return { type: "tool_call" as const, toolCallId: name, name, args: { file: "lease.ts" } };
  });
  expect(actionsOfStep([{ id: 7, parts }]).map(({ part }) => part)).toEqual([1]);
});

test("a path that ends in a slash has a name", () => {
  expect(actionsIn({ name: "Read", args: { path: "src/" } }, undefined)[0]).toMatchObject({ name: "src/" });
});

test("what a call put in is read from its arguments, also if they were cut", () => {
  const put = (args: unknown) => insertedBy({ args } as { args: JsonValue }, "a.ts");
  expect(put({ file_path: "a.ts", old_string: "one\ntwo", new_string: "one\nthree" })).toBe("three");
  expect(put({ file_path: "a.ts", content: "one" })).toBe("one");
  expect(put('{"file_path": "a.ts", "old_string": "one", "new_string": "\\ttwo\\nthr\\')).toBe("\ttwo\nthr");
});

test("what an edit replaced is read from its arguments", () => {
  expect(replacedBy({ args: { file_path: "/w/a.ts", old_string: "was", new_string: "is" } }, "/w/a.ts")).toEqual([
    "was",
  ]);
  expect(replacedBy({ args: { path: "a.ts", before: "was", after: "is" } }, "a.ts")).toEqual(["was"]);
  for (const edit of [{ old: "was", new: "is" }, [{ old: "was" }]]) {
    expect(replacedBy({ args: { path: "a.ts", edit } }, "a.ts")).toEqual(["was"]);
  }
  const edits = [{ old_string: "1" }, { old_string: "2" }];
  expect(replacedBy({ args: { file_path: "a.ts", edits } }, "a.ts")).toEqual(["1", "2"]);
  const patch =
    "*** Begin Patch\n*** Update File: src/a.ts\n@@\n x\n-was\n+is\n@@ f\n-old\n*** Update File: b/a.ts\n@@\n-no\n*** End Patch";
  const files = edits.map((one, index) => ({ ...one, filePath: `${index}.ts` }));
  expect(replacedBy({ args: { replacements: files } }, "1.ts")).toEqual(["2"]);
  expect(replacedBy({ args: { input: patch } }, "src/a.ts")).toEqual(["x\nwas", "old"]);
  expect(replacedBy({ args: { input: patch.replace("src/", "./src/") } }, "src/a.ts")).toEqual(["x\nwas", "old"]);
});
