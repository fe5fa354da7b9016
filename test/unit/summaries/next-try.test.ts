import { describe, expect, test } from "vitest";
import { StoreError } from "../../../src/core/errors.ts";
import { attemptsAfter, consequenceOf, postponementOf } from "../../../src/summaries/next-try.ts";

const HOUR_MS = 3_600_000;
const model = "m";

describe("a failure", () => {
  test.each([
    [1, 1_000, 500],
    [2, 2_000, 1_000],
    [5, 16_000, 8_000],
    [12, 2_048_000, 1_024_000],
    [13, HOUR_MS, HOUR_MS / 2],
    [2_000, HOUR_MS, HOUR_MS / 2],
  ])("that is the %s. in a row is tried again after %s ms at most and %s at least", (attempts, longest, shortest) => {
    const error = new Error("the line is dead");
    expect(consequenceOf(error, attempts, 100, 0)).toEqual({
      status: "failed",
      error: "the line is dead",
      errorCode: null,
      nextTryAtMs: 100 + longest,
      pauses: false,
    });
    expect(consequenceOf(error, attempts, 100, 1).nextTryAtMs).toBe(100 + shortest);
  });

  test("waits as long as the service says, if that is longer, and so does all else", () => {
    const busy = (retryAfterMs: number) => new StoreError("MODEL_UNAVAILABLE", { model, reason: "busy", retryAfterMs });
    expect(consequenceOf(busy(7_000), 1, 0, 0)).toMatchObject({ status: "failed", nextTryAtMs: 7_000, pauses: true });
    expect(consequenceOf(busy(7_000), 5, 0, 0)).toMatchObject({ nextTryAtMs: 16_000, pauses: true });
    const many = new StoreError("MODEL_UNAVAILABLE", { model, reason: "too many", status: 429 });
    expect(consequenceOf(many, 1, 0, 0)).toMatchObject({ nextTryAtMs: 1_000, pauses: true });
    const broken = new StoreError("MODEL_UNAVAILABLE", { model, reason: "broken", status: 500 });
    expect(consequenceOf(broken, 1, 0, 0)).toMatchObject({ nextTryAtMs: 1_000, pauses: false });
  });

  test("does not wait for ever because a service says so", () => {
    const waits = (retryAfterMs: number) =>
      consequenceOf(new StoreError("MODEL_UNAVAILABLE", { model, reason: "busy", retryAfterMs }), 1, 0, 0).nextTryAtMs;
    expect([1e13, Number.POSITIVE_INFINITY, 2_000.5, Number.NaN, -5].map(waits)).toEqual([
      24 * HOUR_MS,
      24 * HOUR_MS,
      2_001,
      1_000,
      1_000,
    ]);
  });

  test("says what it is in a text of bounded length, whatever was thrown", () => {
    const said = (error: unknown) => consequenceOf(error, 1, 0, 0).error;
    expect(said(new Error("word ".repeat(1_000_000))).length).toBeLessThanOrEqual(1_000);
    expect([said("no"), said(undefined)]).toEqual(["no", "undefined"]);
    for (const thrown of [Object.create(null), { message: "no" }, null]) expect(said(thrown)).toContain("not an Error");
  });

  test.each<[StoreError, number | null, boolean]>([
    [new StoreError("MODEL_REFUSED", { model, reason: "the prompt is blocked" }), null, false],
    [new StoreError("MODEL_REFUSED", { model, reason: "no", status: 400 }), null, false],
    [new StoreError("MODEL_REFUSED", { model, reason: "no", status: 401, concerns: "account" }), HOUR_MS, true],
    [new StoreError("MODEL_REFUSED", { model, reason: "no", status: 403 }), HOUR_MS, true],
    [new StoreError("MODEL_REFUSED", { model, concerns: "key" }), HOUR_MS, true],
    [new StoreError("REDACT_FAILED", { reason: "it threw" }), HOUR_MS, false],
  ])("%o is parked until %s, and pauses all else: %s", (error, nextTryAtMs, pauses) => {
    expect(consequenceOf(error, 3, 0, 0.5)).toEqual({
      status: "parked",
      error: error.message,
      errorCode: error.code,
      nextTryAtMs,
      pauses,
    });
  });
});

describe("a try", () => {
  const asker = { summarizerId: "m", promptVersion: 1, claimant: "me", nowMs: 1_000 };
  const failed = {
    status: "failed" as const,
    logPosition: 10,
    attempts: 2,
    claimant: "another",
    createdAtMs: 500,
    errorCode: null,
    nextTryAtMs: 2_000,
  };

  test("that failed keeps everyone waiting until the next one, whatever has been said since", () => {
    expect(postponementOf(failed, 99, asker)).toEqual({ kind: "deferred", nextTryAtMs: 2_000, isInflated: false });
    expect(postponementOf(failed, 10, { ...asker, nowMs: 1_999 })).toBeDefined();
    expect(postponementOf(failed, 10, { ...asker, nowMs: 2_000 })).toBeUndefined();
    expect(postponementOf(undefined, 10, asker)).toBeUndefined();
  });

  test("that is yet to be made keeps nobody waiting: somebody has set the clock back", () => {
    expect(postponementOf(failed, 10, { ...asker, nowMs: 499 })).toBeUndefined();
  });

  test("of a version that knew no next tries is made again at once", () => {
    expect(postponementOf({ ...failed, nextTryAtMs: null }, 10, asker)).toBeUndefined();
  });

  test("that was parked waits for more, and what was inflated has nothing to stand in for it", () => {
    const parked = { ...failed, status: "parked" as const, nextTryAtMs: null };
    expect(postponementOf(parked, 10, asker)).toEqual({ kind: "parked", nextTryAtMs: null, isInflated: true });
    const refused = { ...parked, errorCode: "MODEL_REFUSED" };
    expect(postponementOf(refused, 10, asker)).toEqual({ kind: "parked", nextTryAtMs: null, isInflated: false });
    expect(postponementOf(parked, 11, asker)).toBeUndefined();
  });

  test("with a key that was refused keeps only that very store waiting", () => {
    const refused = { ...failed, status: "parked" as const, errorCode: "MODEL_REFUSED" };
    expect(postponementOf(refused, 99, { ...asker, claimant: "another" })).toMatchObject({
      kind: "parked",
      nextTryAtMs: 2_000,
    });
    expect(postponementOf(refused, 10, asker)).toBeUndefined();
  });

  test("counts with those before it, unless it was parked", () => {
    expect(attemptsAfter(undefined)).toBe(1);
    expect(attemptsAfter(failed)).toBe(3);
    expect(attemptsAfter({ ...failed, status: "parked" })).toBe(2);
  });
});
