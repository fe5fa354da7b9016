import { assert } from "../core/assert.ts";
import { MESSAGE_TOKENS } from "../core/tokens.ts";
import { acceptableView } from "./acceptable.ts";
import { fitWindow } from "./fit-window.ts";
import { gapElement, gapOf } from "./gap.ts";
import { type Memory, renderMemory } from "./memory.ts";
import { pinnedPieces } from "./pinned.ts";
import { evidenceSources, omissions, pieceSources, summarySources } from "./provenance.ts";
import type { ContextMessage, RenderOptions, RenderResult } from "./result.ts";
import { tokensOfPieces } from "./steps.ts";
import type { RenderView } from "./view.ts";

/**
 * The union-find context: pinned messages, one memory message, the end of the window.
 *
 *     pinned, system   as appended
 *     memory           role user: a block of the themes, then a pointer line for what else is left out
 *     window           as appended, from some step on to the newest
 *
 * **Budget.** The memory block gets a fixed share of what the pinned messages leave, the window the rest, and whatever
 * the block does not use. What does not fit is named by pointer lines. A newest step that is too large for the
 * window's share takes from the block's.
 *
 * **Prefix.** Between two moves of the frontier, and with the same `tokensMax`, a context begins with the bytes of the
 * one before it, so that prompt caches hit. The block depends on the cold part and not on the window. The start of the
 * window moves seldom and far: when it no longer fits, half of its room is cleared at once. The prefix does break at
 * such a move.
 *
 * **Legality.** Every provider accepts a context: see `acceptableView`, `piecesOf` and `pinnedPieces`. Only the calls of
 * the newest step may still wait for results.
 *
 * **Partition.** `sources` and `omitted` claim every message of the session once; each render asserts it.
 *
 * Pure. With `memory` at hand, a render costs what the window costs.
 *
 * @param memory  `renderMemory` of the same pinned messages, themes, frontier and options.
 * @throws {StoreError} `BUDGET_TOO_SMALL` if pinned messages, newest step and one pointer line do not fit; rendering
 *   with `tokensNeeded` does.
 */
export function renderUnionFind(
  stored: RenderView,
  options: RenderOptions,
  memory: Memory = renderMemory(stored, options),
): RenderResult {
  const { tokensMax, tokenCounter } = options;
  const view = acceptableView(stored, tokenCounter);
  const pinned = pinnedPieces(view, tokenCounter);
  const window = fitWindow(view, options, tokensOfPieces(pinned), memory);
  const gap = gapOf(view, window.hidden, window.memory);

  const texts: string[] = [];
  let tokenCount = tokensOfPieces(pinned) + tokensOfPieces(window.shown);
  if (window.memory.text !== undefined) {
    texts.push(window.memory.text);
    tokenCount += window.memory.tokenCount; // not counted again: it may be most of the context
  }
  if (gap !== undefined) {
    const text = gapElement(gap);
    texts.push(text);
    tokenCount += tokenCounter.count(text);
  }
  if (texts.length > 0) tokenCount += MESSAGE_TOKENS;

  const messages: ContextMessage[] = pinned.map((piece) => piece.message);
  const memoryIndex = messages.length;
  if (texts.length > 0) messages.push({ role: "user", parts: texts.map((text) => ({ type: "text", text })) });
  const windowIndex = messages.length;
  for (const { message } of window.shown) messages.push(message);

  const sources = [
    ...pieceSources(pinned, 0),
    ...evidenceSources(window.memory, memoryIndex),
    ...pieceSources(window.shown, windowIndex),
    ...summarySources(view, window, memoryIndex),
  ];
  const omitted = omissions(view, window, gap, memoryIndex);

  assert(tokenCount <= tokensMax, "a context fits its budget");
  const claimed = [...sources, ...omitted].reduce((sum, entry) => sum + entry.messageCount, 0);
  assert(claimed === view.messageCount, "sources and omitted claim every message once");
  return { messages, tokenCount, sources, omitted };
}
