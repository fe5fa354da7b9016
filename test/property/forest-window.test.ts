import fc from "fast-check";
import { expect, test } from "vitest";
import { compactFrontier, type Frontier, nextFrontier, type WindowStep } from "../../src/forest/window.ts";

const options = fc
  .record({
    hotSize: fc.integer({ min: 1, max: 12 }),
    evictBatch: fc.integer({ min: 1, max: 10 }),
    overlapShare: fc.double({ min: 0, max: 1, noNaN: true }),
    hotTokensMax: fc.integer({ min: 100, max: 3000 }),
  })
  .map(({ overlapShare, ...rest }) => ({ ...rest, overlap: Math.floor(overlapShare * rest.evictBatch) }));

const history = fc.array(
  fc.record({
    messageCount: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
      { weight: 1, arbitrary: fc.constant(15) },
    ),
    tokenCount: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 80 }) },
      { weight: 1, arbitrary: fc.integer({ min: 100, max: 4000 }) },
    ),
    /** Places taken by pinned messages before the step. */
    gap: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(2) }),
    /** The caller compacts after the step. */
    compacts: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  { maxLength: 120, size: "max" },
);

/**
 * Goal: however a session grows, the frontier never splits a step, never goes back, keeps the newest step, keeps what it
 * promises verbatim, and stays within its limits; and it moves in batches.
 * Method: append random steps one by one and follow every move; check each against sums over the plain list of all steps.
 */
test("holds every promise of the window while any session grows", () => {
  const seen = { moves: 0, costly: 0, compacts: 0, evicted: 0 };
  fc.assert(
    fc.property(options, history, (limits, appended) => {
      const all: WindowStep[] = [];
      let frontier: Frontier = { graduatedSeq: 0, evictedSeq: 0 };
      let seq = 0;
      const windowOf = () => all.filter(({ seqFirst }) => seqFirst >= frontier.evictedSeq);
      const countFrom = (from: number) =>
        all.reduce((sum, step) => sum + (step.seqFirst >= from ? step.messageCount : 0), 0);
      const tokensFrom = (from: number) =>
        all.reduce((sum, step) => sum + (step.seqFirst >= from ? step.tokenCount : 0), 0);

      for (const { messageCount, tokenCount, gap, compacts } of appended) {
        const seqFirst = seq + gap;
        seq = seqFirst + messageCount;
        all.push({ seqFirst, seqLast: seq - 1, messageCount, tokenCount, open: false });
        const newest = all.at(-1)!;
        const cost = tokensFrom(frontier.evictedSeq);

        const next = nextFrontier(windowOf(), frontier, limits);
        if (next === undefined) {
          expect(
            countFrom(frontier.graduatedSeq) < limits.hotSize + limits.evictBatch ||
              newest.messageCount > limits.hotSize,
          ).toBe(true);
          continue;
        }
        check(next, frontier);
        const costly = cost > limits.hotTokensMax;
        expect(costly || countFrom(frontier.graduatedSeq) >= limits.hotSize + limits.evictBatch).toBe(true);
        if (!costly) expect(countFrom(next.evictedSeq)).toBeGreaterThanOrEqual(limits.hotSize + limits.overlap);
        if (next.graduatedSeq < newest.seqFirst) {
          expect(countFrom(next.graduatedSeq)).toBeLessThanOrEqual(limits.hotSize);
          expect(tokensFrom(next.graduatedSeq)).toBeLessThanOrEqual(limits.hotTokensMax / 4);
        }
        frontier = next;
        seen.moves += 1;
        seen.evicted = Math.max(seen.evicted, frontier.evictedSeq);

        if (costly) {
          seen.costly += 1;
          frontier = nextFrontier(windowOf(), frontier, limits) ?? frontier;
          const bound = Math.max(newest.tokenCount, limits.hotTokensMax);
          expect(tokensFrom(frontier.evictedSeq)).toBeLessThanOrEqual(bound);
          expect(nextFrontier(windowOf(), frontier, limits)).toBeUndefined();
        }
        if (compacts) {
          const compacted = compactFrontier(windowOf(), frontier, limits);
          if (compacted !== undefined) {
            check(compacted, frontier);
            seen.compacts += 1;
            frontier = compacted;
          }
          expect(compactFrontier(windowOf(), frontier, limits)).toBeUndefined();
        }
      }

      function check(next: Frontier, before: Frontier): void {
        expect(next.graduatedSeq).toBeGreaterThanOrEqual(before.graduatedSeq);
        expect(next.evictedSeq).toBeGreaterThanOrEqual(before.evictedSeq);
        expect(next.evictedSeq).toBeLessThanOrEqual(next.graduatedSeq);
        expect(next.graduatedSeq).toBeLessThanOrEqual(all.at(-1)!.seqFirst);
        const starts = [0, ...all.map(({ seqFirst }) => seqFirst)];
        expect(starts).toContain(next.graduatedSeq);
        expect(starts).toContain(next.evictedSeq);
      }
    }),
  );
  expect(seen.moves).toBeGreaterThan(200);
  expect(seen.costly).toBeGreaterThan(50);
  expect(seen.compacts).toBeGreaterThan(10);
  expect(seen.evicted).toBeGreaterThan(60);
});
