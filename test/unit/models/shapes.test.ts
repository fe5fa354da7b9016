import { describe, expect, test } from "vitest";
import { isCode, isError, isOutcome, isProse } from "../../../src/models/shapes.ts";

describe("isError", () => {
  test.each([
    "TypeError: Cannot read properties of undefined (reading 'id')",
    "error TS2322: Type 'string' is not assignable to type 'number'.",
    "src/a.ts(12,5): error TS2322: Type 'string' is not assignable.",
    "main.go:12:3: undefined: parseFlags",
    "--- FAIL: TestOpen (0.03s)",
    "not ok 3 - opens the file",
    "Traceback (most recent call last):",
    "bash: foo: command not found",
    "cat: a.txt: No such file or directory",
    "The command exited with code 2",
    "✗ opens the file",
  ])("knows %s", (line) => {
    expect(isCode(line)).toBe(false);
    expect(isError(line)).toBe(true);
  });

  test.each(["14:11:15 INFO starting", "The error handling is in place.", "exit code 0", "panicking is not an option"])(
    "does not take %s for one",
    (line) => expect(isError(line)).toBe(false),
  );
});

describe("isOutcome", () => {
  test.each([
    "Tests  42 passed (42)",
    "12 passing (3s)",
    "Found 3 errors in 2 files.",
    "0 issues.",
    "3 files changed, 20 insertions(+)",
    "[main 1a2b3c4] Move the lock to the store",
    "[lint] 0 issues.",
    "Build succeeded in 3 s",
  ])("knows %s", (line) => {
    expect(isCode(line)).toBe(false);
    expect(isOutcome(line)).toBe(true);
  });

  test.each(["ok", "see chapter 3 problematic", "total 64", "[INFO] starting"])("does not take %s for one", (line) =>
    expect(isOutcome(line)).toBe(false),
  );
});

describe("isCode", () => {
  test.each([
    "return fmt.Errorf(`open: %w`, error);",
    "  12→import { a } from './a.ts'",
    "src/a.ts:12:  throw new Error('no')",
    "src/a.ts-13-  // Error: what it says",
    "// Error: the caller is at fault",
    "+  throw new TypeError('x')",
    '{"error": "not found"}',
    '["error", "not found"] ',
    "@@ -1,4 +1,4 @@",
    "if (error) fail(error",
    "if a lock is not held:",
    "import lock from './lock.ts';",
    "private name: string",
    "for lock in locks(open)",
  ])("knows %s", (line) => expect(isCode(line)).toBe(true));

  test.each([
    "Error: disk full",
    "The build is green.",
    "if this fails we go back",
    "if the lease is stale, take it over (and log it)",
    "import the table of tides; it is long",
    "src/a.ts:12:5: error: no",
  ])("does not take %s for it", (line) => expect(isCode(line)).toBe(false));

  test("counts a line too long to read as data", () => {
    expect(isCode("word ".repeat(1_000))).toBe(true);
  });
});

describe("isProse", () => {
  test.each(["The lock is held by `open()`.", "Renamed clean.go to cleanup.go, as agreed.", "该区域已满"])(
    "knows %s",
    (line) => expect(isProse(line)).toBe(true),
  );

  test.each(["total 64", "a.ts b.ts c.ts", "const a = b;", "done"])("does not take %s for it", (line) =>
    expect(isProse(line)).toBe(false),
  );
});
