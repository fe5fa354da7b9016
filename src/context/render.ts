import { assert } from "../core/assert.ts";
import { MESSAGE_TOKENS } from "../core/tokens.ts";
import { acceptableView } from "./acceptable.ts";
import { type FittedWindow, fitWindow } from "./fit-window.ts";
import { gapElement, gapOf } from "./gap.ts";
import { type Memory, renderMemory } from "./memory.ts";
import { pinnedPieces } from "./pinned.ts";
import { evidenceSources, omissions, pieceSources, recalledSources, summarySources } from "./provenance.ts";
import { buildRecallBlock, type RecallBlock } from "./recall-block.ts";
import type { RecalledStep } from "./recalled.ts";
import type { ContextMessage, MessageSource, RenderOptions, RenderResult } from "./result.ts";
import { tokensOfPieces } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** What was found for a query. */
export interface Findings {
  /** By worth, best first, each once. What the rest of the context shows is not shown again. */
  steps: readonly RecalledStep[];
  /** Of the whole context with the evidence: more than the `tokensMax` of the rest leaves it room. */
  tokensMax: number;
}

/**
 * The union-find context: pinned messages, one memory message, the end of the window; with a query, evidence.
 *
 *     pinned, system   as appended
 *     memory           role user: a block of the themes, continuity, then a pointer line for what else is left out
 *     window           as appended but for such cuts, from some step on
 *     evidence         role user: what was found for a query, word for word
 *     newest step      as appended
 *
 * **Size.** Of a message that costs more than one of its age may, results and arguments are cut down to what matters
 * before anything else is decided: see `normalWindow`. Where it stands, it costs what it costs then.
 *
 * **Budget.** The memory block gets a fixed share of what the pinned messages leave, the window the rest, and whatever
 * the block does not use. Continuity has a share of its own, which it need not fill. What does not fit is named by pointer lines. A newest step that is too large for the
 * window's share takes from the block's.
 *
 * **Prefix.** Between two moves of the frontier, and with the same `tokensMax`, a context begins with the bytes of the
 * one before it, so that prompt caches hit. The block depends on the cold part and not on the window, continuity on what
 * is before the start of the window. That start moves seldom and far: when it no longer fits, half of its room is cleared at once. The prefix does break at
 * such a move.
 *
 * **Legality.** Every provider accepts a context: see `acceptableView`, `piecesOf` and `pinnedPieces`. Only the calls of
 * the newest step may still wait for results.
 *
 * **Evidence** is made of what the rest does not show, and comes as late as it can: nothing before it depends on the query,
 * neither its bytes nor how many there are. The newest step stays last, because it is what the model answers: a question
 * is read as one only at the end, and results of calls must follow them. The pointer lines before it may name what the
 * evidence shows; `omitted` counts it no more.
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
  findings?: Findings,
): RenderResult {
  const { tokenCounter } = options;
  const tokensMax = findings?.tokensMax ?? options.tokensMax;
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
  if (window.continuity !== undefined) {
    texts.push(window.continuity.text);
    tokenCount += window.continuity.tokenCount;
  }
  if (gap !== undefined) {
    const text = gapElement(gap);
    texts.push(text);
    tokenCount += tokenCounter.count(text);
  }
  if (texts.length > 0) tokenCount += MESSAGE_TOKENS;

  const messages: ContextMessage[] = pinned.map((piece) => piece.message);
  const memoryIndex = messages.length;
  const composed: number[] = [];
  if (texts.length > 0) {
    messages.push({ role: "user", parts: texts.map((text) => ({ type: "text", text })) });
    composed.push(memoryIndex);
  }
  const windowIndex = messages.length;
  for (const { message } of window.shown) messages.push(message);

  const shown = [
    ...pieceSources(pinned, 0),
    ...evidenceSources(window.memory, memoryIndex),
    ...pieceSources(window.shown, windowIndex),
  ];
  let stablePrefixTokens = tokenCount;
  let block: RecallBlock | undefined;
  const recallIndex = windowIndex + window.newestIndex;
  if (findings !== undefined) {
    stablePrefixTokens -= tokensOfPieces(window.shown.slice(window.newestIndex));
    const steps = showable(findings.steps, view, window, shown);
    block = buildRecallBlock(steps, tokensMax - tokenCount - MESSAGE_TOKENS, tokenCounter);
  }
  if (block !== undefined) {
    tokenCount += MESSAGE_TOKENS + block.tokenCount;
    composed.push(recallIndex);
    messages.splice(recallIndex, 0, { role: "user", parts: [{ type: "text", text: block.text }] });
    for (const source of shown) if (source.messageIndex >= recallIndex) source.messageIndex++;
  }
  const own = block?.messages.filter(({ message }) => message.sessionId === view.sessionId) ?? [];
  const sources = [...shown, ...recalledSources(own, recallIndex), ...summarySources(view, window, own, memoryIndex)];
  const omitted = omissions(view, window, gap, own, memoryIndex);
  const recalled = (block?.messages ?? []).map(({ message: { id, sessionId, seq }, how }) => {
    return { messageId: id, sessionId, seq, messageIndex: recallIndex, how };
  });

  assert(tokenCount <= tokensMax, "a context fits its budget");
  const claimed = [...sources, ...omitted].reduce((sum, entry) => sum + entry.messageCount, 0);
  assert(claimed === view.messageCount, "sources and omitted claim every message once");
  const continuity = (window.continuity?.messages ?? []).map((from) => ({ ...from, messageIndex: memoryIndex }));
  return { messages, composed, tokenCount, stablePrefixTokens, sources, omitted, recalled, continuity };
}

/** What the rest of the context does not show. Of the session itself, what `omitted` or a summary stands for so far. */
function showable(
  steps: readonly RecalledStep[],
  view: RenderView,
  { hidden }: FittedWindow,
  shown: readonly MessageSource[],
): RecalledStep[] {
  const hiddenIds = new Set(hidden.map(({ id }) => id));
  const shownIds = new Set(shown.map(({ messageId }) => messageId));
  return steps.filter(({ sessionId, messages, cold }) => {
    if (sessionId !== view.sessionId) return true;
    if (cold === undefined) return messages.every(({ id }) => hiddenIds.has(id));
    return messages.every(({ id }) => !shownIds.has(id));
  });
}
