import fc from "fast-check";
import { expect, test } from "vitest";
import { unaccountedCount } from "../../scripts/eval/context-checks.ts";
import { breachesOf, withOpenCallsAnswered } from "../../scripts/eval/provider-rules.ts";
import { openStore, type RenderResult, type Session, type Store, StoreError } from "../../src/index.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { happeningArbitrary, messagesOf, quarterCounter } from "../support/render-model.ts";
import { inputOf } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";

const lifeArbitrary = fc.record({
  strategy: fc.constantFrom("flat" as const, "sandwich" as const, "full" as const),
  happenings: fc.array(happeningArbitrary, { minLength: 10, maxLength: 40, size: "max" }),
  contextTokensMax: fc.integer({ min: 400, max: 6_000 }),
  /** After which messages summaries are made, round and round; whether the caller asks for one. */
  resolves: fc.array(fc.constantFrom("no", "no", "no", "yes", "asked"), { minLength: 1, maxLength: 9 }),
  otherTokensMax: fc.integer({ min: 50, max: 10_000 }),
});

/** The context, or undefined where the budget is refused, which then names one that is not. */
function tryRender(session: Session, tokensMax: number): RenderResult | undefined {
  try {
    return session.render({ tokensMax });
  } catch (error) {
    if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
    const { tokensNeeded } = error.details;
    expect(session.render({ tokensMax: tokensNeeded }).tokenCount).toBeLessThanOrEqual(tokensNeeded);
    return undefined;
  }
}

/** Steps of which a summary that a context shows covers some messages and not others. */
function partedSteps(store: Store, session: Session, { sources }: RenderResult): number[] {
  const messages = session.messages().filter(({ pinned }) => !pinned);
  return sources.flatMap((source) => {
    if (!("handle" in source)) return [];
    const covered = new Set(store.expand(source.handle, { limit: 10_000 }).members.map(({ id }) => id));
    const stepsOf = (isCovered: boolean) =>
      messages.filter(({ id }) => covered.has(id) === isCovered).map(({ stepId }) => stepId);
    const outside = new Set(stepsOf(false));
    return stepsOf(true).filter((stepId) => outside.has(stepId));
  });
}

/**
 * Goal: whatever happens in a session, and whenever its summaries are made, a context of one summary obeys its budget, is
 * accepted by every provider, accounts for every message, parts no call from its results, and keeps its prefix until
 * something is compacted.
 * Method: sessions with pinned messages in between, calls answered in part, results that nobody asked for and texts that
 * try to break out, appended message by message; after each, a context of the session's own budget and one of another are
 * checked against `expand` and the providers' rules.
 */
test("keeps every promise of a context with one summary", async () => {
  const reached = { summary: 0, top: 0, hidden: 0, refused: 0, kept: 0 };
  await fc.assert(
    fc.asyncProperty(lifeArbitrary, async ({ strategy, happenings, contextTokensMax, resolves, otherTokensMax }) => {
      const store = openStore(":memory:", { tokenCounter: quarterCounter, summarizer: scriptedSummarizer("good") });
      try {
        const session = store.session("s", { strategy, contextTokensMax, sandwichMessagesMin: 2 });
        let last: { messages: string[]; isWhole: boolean } | undefined;
        for (const [index, message] of messagesOf(happenings).entries()) {
          session.append(inputOf(message));
          const resolve = resolves[index % resolves.length]!;
          if (resolve === "asked") session.compact();
          if (resolve !== "no") await session.resolveDirty();
          for (const tokensMax of [contextTokensMax, otherTokensMax]) {
            const result = tryRender(session, tokensMax);
            if (result === undefined) {
              reached.refused++;
              continue;
            }
            expect(result.tokenCount).toBeLessThanOrEqual(tokensMax);
            expect(result.recalled).toEqual([]);
            expect(result.stablePrefixTokens).toBe(result.tokenCount);
            expect(unaccountedCount(store, session, result)).toBe(0);
            expect(partedSteps(store, session, result)).toEqual([]);
            if (result.messages.some(({ role }) => role !== "system")) {
              expect(breachesOf(withOpenCallsAnswered(result.messages))).toEqual([]);
            }
            const summary = result.sources.find(({ how }) => how === "summary");
            if (summary !== undefined) reached.summary++;
            if (strategy === "sandwich" && summary !== undefined && summary.seqFirst > 0 && summary.messageIndex > 0)
              reached.top++;
            if (result.omitted.length > 0) reached.hidden++;
          }

          const own = tryRender(session, contextTokensMax);
          if (own === undefined || message.pinned) {
            last = undefined;
            continue;
          }
          const isWhole = own.omitted.length === 0 && own.sources.every(({ how }) => how !== "shortened");
          const messages = own.messages.map((shown) => JSON.stringify(shown));
          if (last?.isWhole && isWhole && resolve === "no") {
            expect(messages.slice(0, last.messages.length)).toEqual(last.messages);
            reached.kept++;
          }
          last = { messages, isWhole };
        }
        expect(store.verify()).toMatchObject({ ok: true });
      } finally {
        store.close();
      }
    }),
    { numRuns: runs(15) },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(5));
});
