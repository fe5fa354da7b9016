import fc from "fast-check";
import { expect, test } from "vitest";
import { UNCACHED_TOKENS_MAX } from "../../src/context/layout/fit-window.ts";

import { prepareView } from "../../src/context/layout/prepare.ts";
import { type MemoryPart, renderContext } from "../../src/context/render.ts";
import type { Source } from "../../src/context/result.ts";
import type { RenderView } from "../../src/context/view.ts";
import type { Message } from "../../src/core/message.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import {
  divisionArbitrary,
  type Happening,
  happeningArbitrary,
  messagesOf,
  modelOf,
  openStepIdOf,
  quarterCounter,
} from "../support/render-model.ts";

/** What pins nothing: a pinned message is rendered first, and so changes the prefix for good. */
const unpinnedArbitrary = happeningArbitrary
  .filter(({ kind }) => kind !== "system")
  .map((happening): Happening => {
    if (happening.kind === "user") return { ...happening, pinned: false };
    return happening.kind === "calls" ? { ...happening, interjection: false } : happening;
  });

/**
 * Goal: until the frontier moves, a context begins with the bytes of the one before it, but for rare and large moves of
 * the start of the window; and a memory message that was kept gives the same bytes as one made anew.
 * Method: append to a session message by message, one of them about as large as the budget, and render after each. A
 * context that does not begin like the one before it must have moved its start, never back, or have had to make room for
 * one large step; the tokens appended between four such moves are compared with the room.
 */
test("promise 6: keeps its prefix until the window has used up half of its room", () => {
  const reached = { renders: 0, moves: 0, yields: 0, digests: 0 };
  fc.assert(
    fc.property(
      fc.array(happeningArbitrary, { maxLength: 30, size: "max" }),
      divisionArbitrary,
      fc.array(unpinnedArbitrary, { minLength: 20, maxLength: 50, size: "max" }),
      fc.integer({ min: UNCACHED_TOKENS_MAX + 1, max: 12_000 }),
      fc.record({ place: fc.nat(20), hundredths: fc.integer({ min: 40, max: 120 }) }),
      (before, division, others, tokensMax, large) => {
        const memories = new Map<string, MemoryPart>();
        const text = "abcd".repeat((tokensMax * large.hundredths) / 100);
        const after = others.toSpliced(large.place, 0, { kind: "assistant", text });
        const all = messagesOf([...before, ...after]);
        const start = modelOf(all.slice(0, messagesOf(before).length), division).view;
        const pinnedTokens = start.pinned.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
        if (pinnedTokens > tokensMax / 4) return;

        let last: { messages: string[]; first: number; memory: string } | undefined;
        const moves: number[] = [];
        let appended = 0;
        for (let count = start.messageCount + 1; count <= all.length; count++) {
          const view = prepareView(grown(start, all.slice(0, count)), quarterCounter);
          const options = { tokensMax, tokenCounter: quarterCounter };
          const result = renderContext(view, options, undefined, memories);
          if (count % 5 === 0) expect(JSON.stringify(result)).toBe(JSON.stringify(renderContext(view, options)));

          const messages = result.messages.map((message) => JSON.stringify(message));
          const now = {
            messages,
            first: firstShown(view, result.sources, result.composed),
            memory: result.composed.map((index) => messages[index]).join(),
          };
          // A step that outgrows the whole budget while its results come in is shortened as a whole, again each time.
          const newest = all[count - 1]!;
          const reshapes =
            newest.stepId !== newest.id &&
            result.sources.some(({ how, seqFirst }) => how === "shortened" && all[seqFirst]!.stepId === newest.stepId);
          reached.renders++;
          if (now.memory.includes("<m id=")) reached.digests++;
          appended += newest.tokenCount;
          if (last !== undefined && !reshapes) {
            if (now.memory !== last.memory) reached.yields++;
            if (!last.messages.every((message, index) => message === messages[index])) {
              expect(now.first > last.first || now.memory !== last.memory).toBe(true);
              reached.moves++;
              moves.push(appended);
            }
            expect(now.first).toBeGreaterThanOrEqual(last.first);
          }
          last = now;
        }
        // One step may take all of the room for itself, and the next one too; but not four in less than an eighth of it.
        moves.slice(3).forEach((move, index) => {
          expect(move - moves[index]!).toBeGreaterThan(tokensMax / 8);
        });
      },
    ),
    { numRuns: runs(20) },
  );
  expect(reached.yields).toBeGreaterThan(seenInRuns(2));
  expect(reached.moves).toBeGreaterThan(seenInRuns(25));
  expect(reached.moves / reached.renders).toBeLessThan(0.2);
  expect(reached.digests).toBeGreaterThan(seenInRuns(50));
});

/** The session later, with the frontier where it was. */
function grown(view: RenderView, messages: readonly Message[]): RenderView {
  const window = [...view.window, ...messages.slice(view.messageCount)];
  return { ...view, messageCount: messages.length, window, openStepId: openStepIdOf(messages) };
}

/** seq of the first message of the window that is shown. */
function firstShown(view: RenderView, sources: readonly Source[], composed: readonly number[]): number {
  const shown = new Set(
    sources.flatMap((source) =>
      "messageId" in source && !composed.includes(source.messageIndex) ? [source.seqFirst] : [],
    ),
  );
  return view.window.find(({ seq }) => shown.has(seq))!.seq;
}
