import { expect, test } from "vitest";
import { StoreError } from "../../../src/core/errors.ts";

const messageOf = (actual: unknown): string =>
  new StoreError("OPTION_INVALID", { option: "limit", expected: "a whole number", actual }).message;

test("shows what was found instead", () => {
  expect(messageOf(undefined)).toBe("Expected limit to be a whole number, got nothing.");
  expect(messageOf(Number.NaN)).toBe("Expected limit to be a whole number, got NaN.");
  expect(messageOf("ten")).toBe('Expected limit to be a whole number, got "ten".');
  expect(messageOf("x".repeat(100))).toBe(`Expected limit to be a whole number, got "${"x".repeat(76)}....`);
});

test("shows what JSON cannot write", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  expect(messageOf(10n)).toBe("Expected limit to be a whole number, got 10.");
  expect(messageOf({ limit: 10n })).toBe('Expected limit to be a whole number, got {"limit":"10"}.');
  expect(messageOf(loop)).toBe("Expected limit to be a whole number, got a value that JSON cannot express.");
  expect(messageOf(() => 1)).toBe("Expected limit to be a whole number, got () => 1.");
});
