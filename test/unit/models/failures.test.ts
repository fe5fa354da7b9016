import { expect, test } from "vitest";
import { StoreError } from "../../../src/core/errors.ts";
import { askedDelayMs, delayInHeaders, reasonWithout } from "../../../src/models/failures.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

const busy = (retryAfterMs: number) =>
  new StoreError("MODEL_UNAVAILABLE", { model: "m", reason: "busy", retryAfterMs });

test.each([
  [1_500, 1_500],
  [0.2, 1],
  [999_999_000, DAY_MS],
  [Number.POSITIVE_INFINITY, DAY_MS],
  [Number.NaN, 0],
  [-5, 0],
])("a delay of %d ms is one of %d", (asked, expected) => {
  expect(askedDelayMs(busy(asked))).toBe(expected);
});

test("an error of another kind asks for no delay", () => {
  expect(askedDelayMs(new Error("busy"))).toBe(0);
});

test.each([
  ["2", 2_000],
  [" 0.5 ", 500],
  ["99999999999", DAY_MS],
  ["Fri, 31 Dec 9999 23:59:59 GMT", DAY_MS],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  ["soon", undefined],
  ["-3x", undefined],
])("the header %j", (value, expected) => {
  expect(delayInHeaders(new Headers({ "retry-after": value }))).toBe(expected);
});

test("no header asks for no delay", () => {
  expect(delayInHeaders(new Headers())).toBeUndefined();
});

test.each([`key%3DAIza${"Q".repeat(35)}`, `url_AIza${"Q".repeat(35)}`, `the key sk-${"q".repeat(40)}`])(
  "a key that is not the client's own is hidden: %s",
  (text) => {
    expect(reasonWithout(undefined, text)).toMatch(/\[key\]$/);
  },
);
