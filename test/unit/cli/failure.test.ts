import { expect, test } from "vitest";
import { ERROR_EXAMPLES } from "../../../scripts/docs/sections.ts";
import { Failure, failureFrom, failureText } from "../../../src/cli/failure.ts";
import { type ErrorCode, StoreError } from "../../../src/core/errors.ts";

test("a failure that quotes a text of several lines has its message on one line", () => {
  const failure = new Failure("SESSION_NOT_FOUND", 'No session "\x1b[2J\nDone.".', { hint: "One.\nTwo." });
  expect(failureText(failure, false)).toBe('coppice: No session "␛[2J↵Done.".\nOne.\nTwo.');
});

/** No command ends with these: only programs pass what they are about. */
const OF_PROGRAMS = new Set<ErrorCode>([
  "MESSAGE_INVALID",
  "VALUE_INVALID",
  "NOT_ATOMIC",
  "WRITE_NESTED",
  "STORE_CLOSED",
  "REDACT_FAILED",
]);

test.each(Object.entries(ERROR_EXAMPLES).filter(([code]) => !OF_PROGRAMS.has(code as ErrorCode)))(
  "the hint of %s names commands and options, and no call of the library",
  (code, details) => {
    const { hint = "" } = failureFrom(new StoreError(code as ErrorCode, details as never));
    const named = [...hint.matchAll(/`([^`]*)`/g)].map(([, words]) => words!);
    expect(named.filter((words) => !/^(coppice|npm|UPDATE) /.test(words))).toEqual([]); // an administrator runs SQL
  },
);
