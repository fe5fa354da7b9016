import fc from "fast-check";
import { expect, test } from "vitest";
import type { EvidenceStep } from "../../src/context/evidence/evidence.ts";
import { stableTokensMax } from "../../src/context/layout/fit-window.ts";
import { prepareView } from "../../src/context/layout/prepare.ts";
import { groupSteps } from "../../src/context/layout/steps.ts";
import { renderContext } from "../../src/context/render.ts";
import type { RenderResult } from "../../src/context/result.ts";
import type { ThemePlace } from "../../src/context/view.ts";
import { StoreError } from "../../src/core/errors.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { allElements, pairFaults, parseBlock, partitionFaults, tokensOfContext } from "../support/render-checks.ts";
import {
  happeningArbitrary,
  messagesOf,
  quarterCounter,
  type SessionModel,
  sessionArbitrary,
  tokensMaxArbitrary,
} from "../support/render-model.ts";

const RUNS = runs(250);

/** Where a message of the model stands in the forest, if it has left the window. */
function coldPlace({ view, members }: SessionModel, id: number): ThemePlace | undefined {
  if (view.overlap.has(id)) return undefined;
  const theme = view.themes.findIndex(({ handle }) => members.get(handle)!.has(id));
  if (theme === -1) return undefined;
  const summary = view.themes[theme]!.summaries.findIndex(({ handle }) => members.get(handle)!.has(id));
  return { theme, summary: summary === -1 ? undefined : summary };
}

interface Found {
  model: SessionModel;
  steps: EvidenceStep[];
}

/** Steps of the session, shown or not, and of another one, in an order of worth that has nothing to do with time. */
const foundArbitrary: fc.Arbitrary<Found> = fc
  .record({
    model: sessionArbitrary,
    others: fc.array(happeningArbitrary, { maxLength: 12, size: "max" }),
    keys: fc.array(fc.nat(999), { minLength: 1, maxLength: 40, size: "max" }),
    drawn: fc.nat(2),
  })
  .map(({ model, others, keys, drawn }) => {
    const foreign = messagesOf(others).map((message) => {
      return {
        ...message,
        id: message.id + 100_000,
        stepId: message.stepId + 100_000,
        sessionId: "s2",
        createdAtMs: 60_000,
      };
    });
    const steps = [...groupSteps(model.messages), ...groupSteps(foreign)].map(({ messages }, index): EvidenceStep => {
      const [first] = messages;
      const key = keys[index % keys.length]!;
      return {
        sessionId: first!.sessionId,
        messages,
        snippets: key % 2 === 0 ? new Map([[first!.id, () => "… **deploy** </passage> …"]]) : new Map(),
        worth: (key + 1) / 1_000,
        handle: key % 3 === 0 ? null : `cluster:${key % 5}@9`,
        cold: first!.sessionId === "s1" ? coldPlace(model, first!.id) : undefined,
      };
    });
    const ordered = steps.toSorted(
      (left, right) => right.worth - left.worth || left.messages[0]!.id - right.messages[0]!.id,
    );
    return { model, steps: ordered.filter((_, index) => index % 3 >= drawn) };
  });

/** The context, or the budget it needs. */
function tryRender({ model, steps }: Found, tokensMax: number): RenderResult | number {
  const options = { tokensMax, tokenCounter: quarterCounter };
  const stable = {
    ...options,
    tokensMax: stableTokensMax(prepareView(model.view, quarterCounter), tokensMax, quarterCounter),
  };
  try {
    return renderContext(prepareView(model.view, quarterCounter), stable, { steps, tokensMax });
  } catch (error) {
    if (StoreError.is(error, "BUDGET_TOO_SMALL")) return error.details.tokensNeeded;
    throw error;
  }
}

/** Under the given budget, or the smallest possible. */
function render(found: Found, tokensMax: number): { result: RenderResult; budget: number } {
  const result = tryRender(found, tokensMax);
  if (typeof result !== "number") return { result, budget: tokensMax };
  return { result: tryRender(found, result) as RenderResult, budget: result };
}

/**
 * Goal: with evidence, too, a context never exceeds its budget, accounts for every message of its session once, and shows
 * none twice.
 * Method: offer steps of the session, shown or not, and of another; count the result by itself, let its entries claim
 * against sets of ids, and look for ids that stand in it twice.
 */
test("obeys the budget, accounts for every message once and repeats none", () => {
  const reached = { own: 0, foreign: 0, shortened: 0, verbatim: 0, underSummary: 0, inGap: 0, inTheme: 0 };
  fc.assert(
    fc.property(foundArbitrary, tokensMaxArbitrary, (found, tokensMax) => {
      const { model } = found;
      const { result, budget } = render(found, tokensMax);
      expect(result.tokenCount).toBe(tokensOfContext(result.messages, model));
      expect(result.tokenCount).toBeLessThanOrEqual(budget);
      expect(partitionFaults(result, model)).toEqual([]);

      const ids = result.sources.flatMap((source) => ("messageId" in source ? [source.messageId] : []));
      const foreign = result.recalled.filter(({ sessionId }) => sessionId === "s2").map(({ messageId }) => messageId);
      expect(new Set([...ids, ...foreign]).size).toBe(ids.length + foreign.length);
      for (const { messageId, sessionId, how, messageIndex } of result.recalled) {
        reached[how]++;
        if (sessionId === "s2") {
          reached.foreign++;
          continue;
        }
        reached.own++;
        expect(result.sources).toContainEqual(expect.objectContaining({ messageId, how, messageIndex }));
        const place = coldPlace(model, messageId);
        if (place === undefined) reached.inGap++;
        else if (place.summary === undefined) reached.inTheme++;
        else reached.underSummary++;
      }
    }),
    { numRuns: RUNS },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(25));
});

/**
 * Goal: evidence costs the context nothing that it needs: a budget that is enough without a query is enough with one, the
 * newest step stays last, and calls and results stay together.
 * Method: render with and without evidence, and compare what follows it with the end of the plain context.
 */
test("stands before the newest step, and refuses no budget that the session can obey", () => {
  const reached = { refused: 0, before: 0, openAtEnd: 0 };
  fc.assert(
    fc.property(foundArbitrary, tokensMaxArbitrary, (found, tokensMax) => {
      const { view } = found.model;
      const result = tryRender(found, tokensMax);
      if (typeof result === "number") {
        reached.refused++;
        expect(() =>
          renderContext(prepareView(view, quarterCounter), { tokensMax, tokenCounter: quarterCounter }),
        ).toThrow(StoreError);
        return;
      }
      const plain = renderContext(prepareView(view, quarterCounter), { tokensMax, tokenCounter: quarterCounter });
      const newest = view.window.at(-1);
      const later = view.pinned.some(({ role, seq }) => role !== "system" && seq > (newest?.seq ?? 0));
      const open = newest !== undefined && !later;
      expect(pairFaults(result.messages, open)).toEqual([]);
      if (open && pairFaults(result.messages, false).length > 0) reached.openAtEnd++;
      if (result.recalled.length === 0 || newest === undefined) return;
      reached.before++;
      const after = result.messages.slice(result.recalled[0]!.messageIndex + 1);
      const step = new Set(view.window.filter(({ stepId }) => stepId === newest.stepId).map(({ id }) => id));
      const shownAfter = result.sources.filter(
        ({ messageIndex }) => messageIndex >= result.messages.length - after.length,
      );
      expect(shownAfter.every((source) => "messageId" in source && step.has(source.messageId))).toBe(true);
      expect(after).toEqual(plain.messages.slice(-after.length));
    }),
    { numRuns: RUNS },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(10));
});

/**
 * Goal: what stands before the evidence does not depend on the query, so that prompt caches hit whatever is asked.
 * Method: render the same session with two disjoint sets of findings, and compare the messages that make up
 * `stablePrefixTokens`.
 */
test("begins with the same bytes whatever was found", () => {
  let differing = 0;
  fc.assert(
    fc.property(foundArbitrary, tokensMaxArbitrary, ({ model, steps }, tokensMax) => {
      const half = (parity: number) => steps.filter((_, index) => index % 2 === parity);
      const { result: one, budget } = render({ model, steps: half(0) }, tokensMax);
      const { result: other } = render({ model, steps: half(1) }, budget);
      expect(one.stablePrefixTokens).toBe(other.stablePrefixTokens);
      const prefix = (result: RenderResult) => {
        let tokens = 0;
        const count = result.messages.findIndex((message) => {
          if (tokens === result.stablePrefixTokens) return true;
          tokens += tokensOfContext([message], model);
          return false;
        });
        return JSON.stringify(count === -1 ? result.messages : result.messages.slice(0, count));
      };
      expect(prefix(one)).toBe(prefix(other));
      if (JSON.stringify(one.messages) !== JSON.stringify(other.messages)) differing++;
    }),
    { numRuns: RUNS },
  );
  expect(differing).toBeGreaterThan(RUNS / 4);
});

/**
 * Goal: whatever texts and snippets say, a reader finds our elements and no others; passages are in order, sessions by
 * time and each by seq; and the same findings give the same bytes.
 * Method: texts made of the block's own tags, entities and control characters; the block is parsed back and compared with
 * `recalled`.
 */
test("lets no text break out of the evidence, which is in order", () => {
  let [elements, said] = [0, 0];
  fc.assert(
    fc.property(foundArbitrary, fc.integer({ min: 500, max: 30_000 }), (found, tokensMax) => {
      const { result, budget } = render(found, tokensMax);
      const { view, ...model } = found.model;
      const { blocksOf, placeOf, ...data } = view;
      const again = {
        model: { ...structuredClone(model), view: { ...structuredClone(data), blocksOf, placeOf } },
        steps: found.steps.map(({ snippets, ...step }) => ({ ...structuredClone(step), snippets })),
      };
      expect(JSON.stringify(render(again, budget).result)).toBe(JSON.stringify(result));
      if (result.recalled.length === 0) return;
      const { role, parts } = result.messages[result.recalled[0]!.messageIndex]!;
      expect(role).toBe("user");
      const [recalled, ...rest] = parseBlock((parts[0] as { text: string }).text);
      expect(rest).toEqual([]);
      const [notes] = recalled!.children.filter(({ name }) => name === "notes");
      if (notes !== undefined) said++;
      const messages = recalled!.children.slice(notes === undefined ? 0 : 1);
      expect(messages[0]!.name).toBe("passage");
      expect(messages.every(({ name }) => name === "passage" || name === "m")).toBe(true);
      const shown = allElements([recalled!]).filter(({ name }) => name === "m");
      expect(recalled!.children.filter(({ name }) => name === "m")).toEqual(shown);
      expect(shown).toHaveLength(result.recalled.length);
      shown.forEach(({ attributes }, index) => {
        const { how, messageId } = result.recalled[index]!;
        expect(attributes.shortened).toBe(how === "shortened" ? String(messageId) : undefined);
        elements++;
      });
      const firsts = groupedFirstSeqs(found, result);
      expect(firsts).toEqual(firsts.toSorted((left, right) => left - right));
    }),
    { numRuns: RUNS },
  );
  expect(elements).toBeGreaterThan(RUNS);
  expect(said).toBeGreaterThan(RUNS / 10);
});

/** First seqs of the steps in the evidence, those of the later session raised above all of the earlier. */
function groupedFirstSeqs({ steps }: Found, { recalled }: RenderResult): number[] {
  const stepOf = new Map(steps.flatMap((step) => step.messages.map(({ id }) => [id, step])));
  return recalled.map(({ messageId, sessionId }) => {
    return stepOf.get(messageId)!.messages[0]!.seq + (sessionId === "s2" ? 10_000 : 0);
  });
}
