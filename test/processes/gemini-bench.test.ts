import { expect, test, vi } from "vitest";
import { abortFigures } from "../../scripts/bench/gemini/abort.ts";
import { blockedFigures } from "../../scripts/bench/gemini/blocked.ts";
import { faultFigures } from "../../scripts/bench/gemini/faults.ts";
import { paidFigures, paidTwice } from "../../scripts/bench/gemini/paid.ts";
import { speedFigures } from "../../scripts/bench/gemini/speed.ts";
import { tokenFigures } from "../../scripts/bench/gemini/tokens.ts";

// Some wait for processes or replies, which takes several times as long on a machine that is busy.
vi.setConfig({ testTimeout: 90_000 });

// Short versions of `npm run bench -- gemini`, with room for machines that are busy.

test("clusters are summarized at the same time", async () => {
  const { resolveSpeedup } = await speedFigures(100, 1);
  expect(resolveSpeedup).toBeGreaterThan(2);
});

test("an abort ends a run at once, whatever it is at", async () => {
  const { abortMs } = await abortFigures(8, 2);
  expect(abortMs).toBeLessThan(300);
});

test("appends go on while the server hangs", async () => {
  const { appendBlockedRatio } = await blockedFigures(400, 400);
  expect(appendBlockedRatio).toBeLessThan(4);
});

test("summaries cost less than what one summary of everything costs, however long the session is", async () => {
  const { summaryTokensVsFlat, summaryTokensGrowth } = await tokenFigures(undefined, {
    conversations: 2,
    few: 800, // by then clusters of short messages have summaries
    many: 1_600,
  });
  expect(summaryTokensVsFlat).toBeGreaterThan(0.1);
  expect(summaryTokensVsFlat).toBeLessThan(1);
  expect(summaryTokensGrowth).toBeLessThan(1.5);
});

test("two processes pay for nothing twice while one of them is killed", async () => {
  expect(await paidFigures(2)).toEqual({ paidTwice: 0 });
});

test("what a killed process was at may be paid for again, as often as it left claims; nothing else", () => {
  const count = (left: number, ...payments: [owner: string, content: string][]) =>
    paidTwice(
      payments.map(([owner, content]) => ({ owner, content })),
      new Map([["killed", left]]),
    );
  expect(count(1, ["a", "one"], ["b", "two"])).toEqual({ afterKill: 0, needlessly: 0 });
  expect(count(1, ["a", "one"], ["b", "one"])).toEqual({ afterKill: 0, needlessly: 1 });
  expect(count(1, ["killed", "one"], ["b", "one"])).toEqual({ afterKill: 1, needlessly: 0 });
  expect(count(0, ["killed", "one"], ["b", "one"])).toEqual({ afterKill: 0, needlessly: 1 });
  expect(count(2, ["killed", "one"], ["a", "one"], ["b", "one"])).toEqual({ afterKill: 1, needlessly: 1 });
});

test("what the service does wrong ends with its typed error, in a store that is whole, and heals", async () => {
  expect(await faultFigures(6)).toEqual({ faults: 100 });
});
