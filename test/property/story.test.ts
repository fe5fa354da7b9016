import fc from "fast-check";
import { expect, test } from "vitest";
import { prepareView } from "../../src/context/layout/prepare.ts";
import { renderContext } from "../../src/context/render.ts";
import type { StoryWriter } from "../../src/context/result.ts";
import type { KeptLine } from "../../src/context/story/noted-lines.ts";
import { openErrors, pathOfActions, rankedFiles } from "../../src/context/story/noted-lines.ts";
import { buildStory, type StoryLines, wholeTokens } from "../../src/context/story/story.ts";
import type { NotedMessage } from "../../src/core/notes.ts";
import { type Message, StoreError } from "../../src/index.ts";
import { NoteReader } from "../../src/models/notes.ts";
import { ToldReader, toldIn } from "../../src/models/told.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { parseBlock, partitionFaults, tokensOfContext } from "../support/render-checks.ts";
import { quarterCounter, type SessionModel, sessionArbitrary, tokensMaxArbitrary } from "../support/render-model.ts";

const notesOfMessages = (messages: readonly Message[]): NotedMessage[] => {
  const reader = new NoteReader();
  return messages.map((message) => {
    const text = message.parts.map((part) => String(part.text ?? part.content ?? "")).join("\n");
    return reader.of({ ...message, text });
  });
};

/** Every third message as if the user had asked to keep it. */
function keptOf(notes: readonly NotedMessage[], messages: readonly Message[]): KeptLine[] {
  const textOf = new Map(messages.map(({ id, parts }) => [id, String(parts[0]?.text ?? "")]));
  return notes
    .filter((_, index) => index % 3 === 0)
    .map(({ messageId, seq }) => ({
      messageId,
      seq,
      text: textOf.get(messageId)!,
      isAsked: seq % 2 === 0,
      was: "<b>",
    }));
}

/** All that has left the window is told of, however long ago. */
function writerOf({ messages, view }: SessionModel): StoryWriter {
  const shown = new Set([...view.pinned, ...view.window].map(({ id }) => id));
  const cold = messages.filter(({ id }) => !shown.has(id));
  const linesOf = (told: readonly Message[]): StoryLines => {
    const notes = notesOfMessages(told);
    const reader = new ToldReader();
    return {
      kept: keptOf(notes, messages),
      told: toldIn(told.flatMap((message) => reader.of(message) ?? [])),
      errors: openErrors(notes),
      actions: pathOfActions(notes),
      files: rankedFiles(notes),
      last: [],
    };
  };
  return {
    wholeTokens: wholeTokens(linesOf(cold), quarterCounter),
    write: (hidden, tokensMax) => buildStory(linesOf([...cold, ...hidden]), tokensMax, quarterCounter),
  };
}

/**
 * Goal: with a story, too, a context obeys its budget and claims every message once; no text breaks out of the block,
 * which tells only of what it names, and nothing of what is shown.
 * Method: render sessions with texts that try to; count, claim and parse the result by itself.
 */
test("obeys the budget, claims nothing, and lets no text break out", () => {
  let told = 0;
  let refused = 0;
  fc.assert(
    fc.property(sessionArbitrary, tokensMaxArbitrary, (model, tokensMax) => {
      const options = { tokensMax, tokenCounter: quarterCounter, story: writerOf(model) };
      const render = () => {
        try {
          return renderContext(prepareView(model.view, quarterCounter), options);
        } catch (error) {
          if (StoreError.is(error, "BUDGET_TOO_SMALL")) return undefined;
          throw error;
        }
      };
      const result = render();
      if (result === undefined) {
        // A story costs no budget that would do without it.
        expect(() =>
          renderContext(prepareView(model.view, quarterCounter), { tokensMax, tokenCounter: quarterCounter }),
        ).toThrow(StoreError);
        refused++;
        return;
      }
      expect(render()).toEqual(result);
      expect(result.tokenCount).toBe(tokensOfContext(result.messages, model));
      expect(result.tokenCount).toBeLessThanOrEqual(tokensMax);
      expect(partitionFaults(result, model)).toEqual([]);
      if (result.story.length === 0) return;

      told++;
      const parts = result.messages[result.story[0]!.messageIndex]!.parts;
      const block = parts.find(({ text }) => String(text).startsWith("<story>"))!;
      const [story, ...others] = parseBlock(String(block.text));
      expect(others).toEqual([]);
      expect(story!.children.every(({ children }) => children.length === 0)).toBe(true);
      const named = story!.children.flatMap(({ attributes }) => attributes.seq!.split("-").map(Number));
      const seqs = result.story.map(({ seq }) => seq);
      expect(named.every((seq) => seqs.includes(seq))).toBe(true);
      const shown = new Set([...model.view.pinned.map(({ id }) => id)]);
      for (const { messageId, seq } of result.story) {
        expect(model.messages[seq]!.id).toBe(messageId);
        expect(shown.has(messageId)).toBe(false);
      }
    }),
    { numRuns: runs(200) },
  );
  expect(told).toBeGreaterThan(seenInRuns(15));
  expect(refused).toBeGreaterThan(seenInRuns(5));
});
