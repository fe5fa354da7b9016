import { isDeepStrictEqual as isEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { breachesOf, withOpenCallsAnswered } from "../../scripts/eval/provider-rules.ts";
import { prepareView } from "../../src/context/layout/prepare.ts";
import { renderContext } from "../../src/context/render.ts";
import type { RenderResult } from "../../src/context/result.ts";
import { StoreError } from "../../src/core/errors.ts";
import type { Part } from "../../src/core/message.ts";
import { wellFormed } from "../../src/core/well-formed.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { allElements, pairFaults, parseBlock, partitionFaults, tokensOfContext } from "../support/render-checks.ts";
import { quarterCounter, type SessionModel, sessionArbitrary, tokensMaxArbitrary } from "../support/render-model.ts";

const RUNS = runs(300);

/** The context, or the budget it needs. */
function tryRender({ view }: SessionModel, tokensMax: number): RenderResult | number {
  try {
    return renderContext(prepareView(view, quarterCounter), { tokensMax, tokenCounter: quarterCounter });
  } catch (error) {
    if (StoreError.is(error, "BUDGET_TOO_SMALL")) return error.details.tokensNeeded;
    throw error;
  }
}

function render(model: SessionModel, tokensMax: number): RenderResult {
  const result = tryRender(model, tokensMax);
  return typeof result === "number" ? (tryRender(model, result) as RenderResult) : result;
}

/**
 * Goal: a context never exceeds its budget, and a budget is refused only if the one it names is the least that will do.
 * Method: render random sessions under random budgets and count the result by itself; where it is refused, try the
 * named budget, and one token less.
 */
test("obeys every budget, or names the smallest one it can obey", () => {
  let refused = 0;
  let tight = 0;
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      let result = tryRender(model, tokensMax);
      let budget = tokensMax;
      if (typeof result === "number") {
        refused++;
        budget = result;
        expect(budget).toBeGreaterThan(tokensMax);
        expect(tryRender(model, budget - 1)).toBe(budget);
        result = tryRender(model, budget) as RenderResult;
      }
      expect(result.tokenCount).toBe(tokensOfContext(result.messages, model));
      expect(result.tokenCount).toBeLessThanOrEqual(budget);
      if (result.omitted.length > 0 && result.tokenCount > budget * 0.9) tight++;
    }),
    { numRuns: RUNS },
  );
  expect(refused).toBeGreaterThan(RUNS / 20);
  expect(tight).toBeGreaterThan(RUNS / 20);
});

/**
 * Goal: every message is shown, covered by a shown summary, or named by a pointer line, once.
 * Method: expand each entry against a session kept as sets of ids, and let the entries claim in order.
 */
test("promise 2: accounts for every message of the session once", () => {
  const reached = { summary: 0, verbatim: 0, shortened: 0, theme: 0, range: 0, hiddenButCovered: 0, partTheme: 0 };
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      const result = render(model, tokensMax);
      expect(partitionFaults(result, model)).toEqual([]);

      for (const source of result.sources) reached[source.how]++;
      for (const omission of result.omitted) {
        reached[omission.kind]++;
        if (omission.kind === "range" && model.view.evictedSeq <= omission.seqFirst) {
          const hidden = model.view.window.filter(({ seq }) => seq <= omission.seqLast).length;
          if (omission.messageCount < hidden) reached.hiddenButCovered++;
        }
        if (omission.kind === "theme" && omission.messageCount < model.members.get(omission.handle)!.size) {
          reached.partTheme++;
        }
      }
    }),
    { numRuns: RUNS },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(3));
});

/**
 * Goal: no provider ever sees an unanswered call or a result without its call; the window is whole from its start to
 * the newest message, and its messages are the very ones that were appended.
 * Method: sessions with calls answered in part, results without calls, ids that repeat, and system messages in between.
 */
test("promise 4: keeps calls and results together, and the window word for word", () => {
  const reached = { interrupted: 0, stray: 0, openAtEnd: 0, hidden: 0, shortened: 0, otherId: 0 };
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      const { messages, sources, composed } = render(model, tokensMax);
      const newest = model.view.window.at(-1);
      const laterPin = model.view.pinned.some(({ role, seq }) => role !== "system" && seq > (newest?.seq ?? 0));
      const open = newest !== undefined && !laterPin;
      expect(pairFaults(messages, open)).toEqual([]);
      if (open && pairFaults(messages, false).length > 0) reached.openAtEnd++;

      const byId = new Map(model.messages.map((message) => [message.id, message]));
      const windowIds = new Set(model.view.window.map((message) => message.id));
      const shown = sources.flatMap((source) =>
        "messageId" in source && !composed.includes(source.messageIndex) ? [source] : [],
      );
      for (const { messageId, messageIndex, how } of shown) {
        const message = byId.get(messageId)!;
        const rendered = messages[messageIndex]!;
        if (!message.pinned && !windowIds.has(messageId)) continue;
        if (how === "shortened") {
          reached.shortened++;
          expect(rendered.parts).not.toBe(message.parts);
          expect(JSON.stringify(rendered.parts)).toContain(`message ${messageId}`);
        } else if (message.role === "tool" && rendered.role === "user") {
          reached.stray++;
          expect(message.stepId).toBe(message.id);
        } else {
          expect(wordsOf(rendered.parts)).toEqual(wordsOf(wellFormed(message.parts)));
          if (isEqual(rendered.parts, message.parts)) expect(rendered.parts).toBe(message.parts);
          else reached.otherId++;
        }
      }
      const shownIds = new Set(shown.map(({ messageId }) => messageId));
      const start = model.view.window.findIndex(({ id }) => shownIds.has(id));
      expect(model.view.window.slice(start).every(({ id }) => shownIds.has(id))).toBe(true);
      expect(model.view.pinned.every(({ id }) => shownIds.has(id))).toBe(true);
      if (newest !== undefined) expect(shownIds.has(newest.id)).toBe(true);
      if (start > 0) {
        reached.hidden++;
        expect(model.view.window[start]!.stepId).not.toBe(model.view.window[start - 1]!.stepId);
      }
      if (JSON.stringify(messages).includes("this call has no result")) reached.interrupted++;
    }),
    { numRuns: RUNS },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(3));
});

/** Parts without what a context may change of them: ids that repeat, and texts of white space. */
function wordsOf(parts: readonly Part[]): unknown[] {
  const said = parts.filter((part) => part.type !== "text" || !["", "[no text]"].includes(part.text.trim()));
  return said.map((part) => ({ ...part, toolCallId: undefined }));
}

/**
 * Goal: every provider accepts every context.
 * Method: sessions whose ids repeat in every step, with empty messages, with calls answered in part, with results that
 * nobody asked for, and with an assistant who begins; each context goes to a checker that knows the providers' rules and
 * nothing of rendering. Calls open at the very end are answered first, as a host would.
 */
test("is accepted by every provider", () => {
  const reached = { opening: 0, blank: 0, repeated: 0, stray: 0, open: 0 };
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      const { messages } = render(model, tokensMax);
      if (messages.every(({ role }) => role === "system")) return; // nothing has been said yet
      const sent = withOpenCallsAnswered(messages);
      expect(breachesOf(sent)).toEqual([]);

      const json = JSON.stringify(messages);
      if (json.includes("[This conversation begins")) reached.opening++;
      if (json.includes("[no text]")) reached.blank++;
      if (json.includes('"call_0_2"')) reached.repeated++;
      if (json.includes("whose call is not in this conversation")) reached.stray++;
      if (sent.length > messages.length) reached.open++;
    }),
    { numRuns: RUNS },
  );
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(3));
});

/**
 * Goal: whatever texts say, a reader of the memory block finds our elements and no others, and in them the texts.
 * Method: texts made of the block's own tags, entities, quotes and control characters; the block is parsed back and
 * compared with what the sources say stands in it.
 */
test("lets no text break out of the memory block", () => {
  let texts = 0;
  fc.assert(
    fc.property(sessionArbitrary, fc.integer({ min: 500, max: 60_000 }), (model, tokensMax) => {
      const { messages, sources, omitted } = render(model, tokensMax);
      const stored = new Set(model.messages.map(({ parts }) => JSON.stringify(wellFormed(parts))));
      const memoryIndex = messages.findIndex(({ parts }) => isMemory(parts) && !stored.has(JSON.stringify(parts)));
      if (memoryIndex === -1) return;
      const memory = messages[memoryIndex]!;
      const elements = allElements(parseBlock(memory.parts.map((part) => part.text as string).join("\n")));

      const inMemory = sources.filter((source) => source.messageIndex === memoryIndex);
      const evidence = inMemory.flatMap((source) => ("messageId" in source ? [source] : []));
      const shownIds = elements.flatMap(({ name, attributes }) => (name === "m" ? [Number(attributes.id)] : []));
      expect(shownIds).toEqual(evidence.map(({ messageId }) => messageId));
      for (const { handle } of inMemory.flatMap((source) => ("handle" in source ? [source] : []))) {
        const theme = model.view.themes.find(({ summaries }) => summaries.some((view) => view.handle === handle))!;
        const summary = theme.summaries.find((view) => view.handle === handle)!;
        const shown = new Set(elements.find(({ name }) => name === "notes")!.text.split("\n"));
        expect(summary.statements.some(({ text }) => shown.has(visible(text)))).toBe(true);
      }
      for (const omission of omitted) {
        const named = elements.filter(({ attributes }) =>
          omission.kind === "theme"
            ? attributes.handle === omission.handle
            : attributes.seq === `${omission.seqFirst}-${omission.seqLast}`,
        );
        expect(named.length).toBeGreaterThan(0);
      }
      for (const { messageId, how } of evidence) {
        const message = model.messages.find(({ id }) => id === messageId)!;
        const element = elements.find(({ attributes }) => attributes.id === String(messageId))!;
        if (how === "verbatim") expect(element.text).toBe(visible((message.parts[0] as { text: string }).text));
        const shown = element.text.split("\n").filter((line) => line !== "…" && line !== "");
        const lines = visible(message.text).split("\n");
        expect(shown.filter((line) => !lines.some((whole) => whole.includes(line)))).toEqual([]);
        texts++;
      }
    }),
    { numRuns: RUNS },
  );
  expect(texts).toBeGreaterThan(RUNS / 4);
});

function isMemory([part]: readonly Part[]): boolean {
  return part?.type === "text" && /^<(memory|pointer) /.test(part.text);
}

/** Control characters as they are shown. */
function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(/[\x00-\x08\x0b-\x1f]/g, (character) => String.fromCharCode(0x2400 + character.charCodeAt(0)))
    .replaceAll("\x7f", "␡")
    .replace(/[\x80-\x9f]|\p{Surrogate}/gu, "\ufffd");
}

/**
 * Goal: the same view gives the same bytes, and is not touched.
 * Method: render a view, render a copy of it, and compare the view with a copy made before.
 */
test("promise 6: is a pure function of the view and the options", () => {
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      const { blocksOf, placeOf, ...data } = model.view;
      const before = structuredClone(data);
      const result = tryRender(model, tokensMax);
      expect(data).toEqual(before);
      const copy = { ...before, blocksOf, placeOf };
      expect(JSON.stringify(tryRender({ ...model, view: copy }, tokensMax))).toBe(JSON.stringify(result));
    }),
    { numRuns: runs(100) },
  );
});
