import { expect, test } from "vitest";
import { Failure, failureText } from "../../../src/cli/failure.ts";

test("a failure that quotes a text of several lines has its message on one line", () => {
  const failure = new Failure("SESSION_NOT_FOUND", 'No session "\x1b[2J\nDone.".', { hint: "One.\nTwo." });
  expect(failureText(failure, false)).toBe('coppice: No session "␛[2J↵Done.".\nOne.\nTwo.');
});
