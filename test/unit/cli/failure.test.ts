import { expect, test } from "vitest";
import { Failure, failureText } from "../../../src/cli/failure.ts";

test("what a message quotes does nothing to the terminal", () => {
  const failure = new Failure("SESSION_NOT_FOUND", 'No session "\x1b[2J".', { hint: "See\x07 it." });
  expect(failureText(failure, false)).toBe('coppice: No session "␛[2J".\nSee␇ it.');
});
