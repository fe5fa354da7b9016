import { expect, test } from "vitest";
import { Failure, failureText } from "../../../src/cli/failure.ts";

test("a failure that quotes a message makes control characters visible", () => {
  const failure = new Failure("SESSION_NOT_FOUND", 'No session "\x1b[2J".', { hint: "See\x07 it." });
  expect(failureText(failure, false)).toBe('coppice: No session "␛[2J".\nSee␇ it.');
});
