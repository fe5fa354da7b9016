import { assert } from "../core/damage.ts";
import { MESSAGE_TOKENS } from "../core/tokens.ts";
import { tokenSum } from "./costs.ts";
import { type EvidenceStep, foundStatements } from "./evidence/evidence.ts";
import { buildEvidenceBlock } from "./evidence/evidence-block.ts";
import { type FittedWindow, fitWindow, type Gap, gapElement, gapOf } from "./layout/fit-window.ts";
import { buildMemory, kindOf, type Memory, type OfferedStatement } from "./layout/memory.ts";
import type { PreparedView } from "./layout/prepare.ts";
import type { PricedMessage } from "./layout/steps.ts";
import type { MessageSource, Omission, RenderOptions, RenderResult, SummarySource } from "./result.ts";
import type { ThemePlace } from "./view.ts";

export interface Findings {
  /** Best first, each once. */
  steps: readonly EvidenceStep[];
  /** Most tokens of the whole context. The `tokensMax` of the options does not include the evidence. */
  tokensMax: number;
}

/**
 * Renders a context: pinned messages, one memory message, the end of the window, and with a query, evidence.
 *
 *     pinned, system   as appended
 *     memory           role user: the lasting digest; the story; statements, themes and the digest; then a pointer line for all else
 *     window           as appended, except for cut tool results, from some step on
 *     evidence         role user: messages that answer a query, word for word
 *     newest step      as appended
 *
 * **Budget.** The memory message gets a fixed share of what the pinned messages leave, and the window gets the rest. If the
 * newest step needs more, the memory message shrinks. Up to `UNCACHED_TOKENS_MAX`, it takes all that the window leaves, and in a larger
 * budget all that the window is not expected to need.
 *
 * **Prefix.** In a larger budget, and until the frontier moves, each context begins with the bytes of the one before it, so that
 * prompt caches hit. The prefix also breaks when the start of the window moves, see `placeHotStart`, and when the window outgrows what was
 * expected. The lasting digest stays.
 *
 * **Legality.** Every provider accepts the messages: see `renderStep` and `prepareView`. Only calls of the newest step may
 * still wait for results.
 *
 * **Evidence** holds only messages that the other parts do not show. It comes late, so that nothing before it depends on the
 * query. The newest step stays last, because models answer the last message.
 *
 * **Partition.** `sources` and `omitted` count every message of the session once. Each render asserts it.
 *
 * @param memories  The memory messages of earlier renders. They are valid until the frontier moves.
 * @throws {StoreError} `BUDGET_TOO_SMALL` if pinned messages, newest step and one pointer line do not fit. A budget of its
 *   `tokensNeeded` is enough.
 */
export function renderContext(
  view: PreparedView,
  options: RenderOptions,
  findings?: Findings,
  memories?: Map<string, MemoryPart>,
): RenderResult {
  const { tokenCounter } = options;
  const tokensMax = findings?.tokensMax ?? options.tokensMax;

  const window = fitWindow(view, options, tokensMax);
  const {
    memory,
    message: memoryMessage,
    gap,
    sources: digestSources,
    story,
    coverage,
  } = memoryPart(view, options, window, memories);
  const stable = [...view.pinnedMessages, ...memoryMessage, ...window.earlier];
  const stableTokens = tokenSum(stable);

  const memoryIndex = view.pinnedMessages.length;
  const shown = [
    ...messageSources(view.pinnedMessages, 0),
    ...messageSources(window.earlier, memoryIndex + memoryMessage.length),
  ];
  const evidenceTokensMax = tokensMax - stableTokens - tokenSum(window.newest) - MESSAGE_TOKENS;
  const block =
    findings &&
    buildEvidenceBlock(unshownSteps(findings, view, window, memory, shown), evidenceTokensMax, tokenCounter, {
      statements: foundStatements(view, findings.steps, memory.statements),
      kind: kindOf(view, tokenCounter) === "talk" ? "talk" : "work",
    });
  const evidenceMessage = composedMessage([block]);
  const evidenceIndex = stable.length;

  const evidence = block?.messages ?? [];
  const statements = block?.statements ?? [];
  const own = evidence.filter(({ message }) => message.sessionId === view.sessionId);
  const ownIds = new Set(own.map(({ message }) => message.id));
  const { summaries, omitted } =
    own.length + statements.length === 0
      ? coverage
      : coverageSources(
          view,
          window,
          memory,
          gap,
          memoryIndex,
          [
            ...own.map(({ message, cold }) => ({ id: message.id, cold })),
            ...memory.messages.filter(({ id }) => !ownIds.has(id)),
          ],
          { statements, messageIndex: evidenceIndex },
        );
  const sources = [
    ...shown,
    ...(own.length === 0 ? digestSources : digestSources.filter(({ messageId }) => !ownIds.has(messageId))),
    ...messageSources(window.newest, evidenceIndex + evidenceMessage.length),
    ...own.map(({ message, how }) => sourceOf(message, how, evidenceIndex)),
    ...summaries,
  ];
  const priced = [...stable, ...evidenceMessage, ...window.newest];
  const tokenCount = tokenSum(priced);
  assert(tokenCount <= tokensMax, "a context fits its budget");
  const claimed = [...sources, ...omitted].reduce((sum, entry) => sum + entry.messageCount, 0);
  assert(claimed === view.messageCount, "sources and omitted claim every message once");
  return {
    messages: priced.map(({ message }) => message),
    composed: [...memoryMessage.map(() => memoryIndex), ...evidenceMessage.map(() => evidenceIndex)],
    tokenCount,
    stablePrefixTokens: findings === undefined ? tokenCount : stableTokens,
    sources,
    omitted: [...omitted],
    recalled: evidence.map(({ message: { id, sessionId, seq }, how }) => {
      return { messageId: id, sessionId, seq, messageIndex: evidenceIndex, how };
    }),
    story,
  };
}

/** The memory message, and how a context without evidence accounts for the messages in it. */
export interface MemoryPart {
  memory: Memory;
  /** One message or none. */
  message: readonly PricedMessage[];
  gap: Gap | undefined;
  /** The messages of the digest. */
  sources: readonly MessageSource[];
  story: RenderResult["story"];
  coverage: Coverage;
}

/** The number of memory messages to keep. A host usually renders with one or two budgets. */
const MEMORIES_KEPT = 8;

/** Returns the memory message for a window, from the kept ones if it is there. */
function memoryPart(
  view: PreparedView,
  options: RenderOptions,
  window: FittedWindow,
  memories: Map<string, MemoryPart> | undefined,
): MemoryPart {
  const key = [
    options.tokensMax,
    window.memoryTokensMax,
    window.storyTokensMax,
    window.anchorSeq,
    window.hidden.length,
    view.pinnedMessages.length,
    view.coldCount,
    ...window.placed.map(({ id }) => id),
  ].join();
  const kept = memories?.get(key);
  if (kept !== undefined) return kept;
  const { tokenCounter } = options;
  const memory = buildMemory(view, options, window);
  const gap = gapOf(view, window.hidden, memory.themes.length > 0);
  const gapQuoted = memory.messages.filter(({ cold }) => cold === undefined || memory.themes.length === 0).length;
  const gapText = gap && gapElement({ ...gap, messageCount: gap.messageCount - gapQuoted });
  const message = composedMessage([
    memory.lasting,
    memory.story,
    memory, // not counted again, because it may be long
    gapText === undefined ? undefined : { text: gapText, tokenCount: tokenCounter.count(gapText) },
  ]);
  const index = view.pinnedMessages.length;
  const sources = memory.messages.map((source) => sourceOf(source, source.how, index));
  const story = (memory.story?.messages ?? []).map((from) => ({ ...from, messageIndex: index }));
  const coverage = coverageSources(view, window, memory, gap, index, memory.messages);
  const part = { memory, message, gap, sources, story, coverage };
  if (memories?.size === MEMORIES_KEPT) memories.clear();
  memories?.set(key, part);
  return part;
}

/** Returns the steps that the other parts of the context do not show word for word. */
function unshownSteps(
  { steps }: Findings,
  view: PreparedView,
  { hidden, newest }: FittedWindow,
  memory: Memory,
  shown: readonly MessageSource[],
): EvidenceStep[] {
  const hiddenIds = new Set(hidden.map(({ id }) => id));
  const inDigest = memory.messages.filter(({ how }) => how === "verbatim");
  const shownIds = new Set([
    ...shown.map(({ messageId }) => messageId),
    ...inDigest.map(({ id }) => id),
    ...newest.map(({ source }) => source?.message.id),
  ]);
  return steps.filter(({ sessionId, messages, cold }) => {
    if (sessionId !== view.sessionId) return true;
    if (cold === undefined && !messages.every(({ id }) => hiddenIds.has(id))) return false;
    return messages.every(({ id }) => !shownIds.has(id));
  });
}

function composedMessage(
  blocks: readonly ({ text: string | undefined; tokenCount: number } | undefined)[],
): PricedMessage[] {
  const written = blocks.filter((block) => block?.text !== undefined) as { text: string; tokenCount: number }[];
  if (written.length === 0) return [];
  const parts = written.map(({ text }) => ({ type: "text" as const, text }));
  return [{ message: { role: "user", parts }, tokenCount: MESSAGE_TOKENS + tokenSum(written), source: undefined }];
}

function messageSources(messages: readonly PricedMessage[], indexFirst: number): MessageSource[] {
  return messages.flatMap(({ source }, index) => {
    return source === undefined ? [] : [sourceOf(source.message, source.how, indexFirst + index)];
  });
}

function sourceOf(
  { id: messageId, seq }: { id: number; seq: number },
  how: "verbatim" | "shortened",
  messageIndex: number,
): MessageSource {
  return { how, messageIndex, messageId, seqFirst: seq, seqLast: seq, messageCount: 1 };
}

interface Coverage {
  summaries: readonly SummarySource[];
  omitted: readonly Omission[];
}

/**
 * Counts the messages that the context does not show: under the summary that covers them, else under a pointer line.
 * @param quoted  The messages of the rendered session that the digest or the evidence shows.
 * @param found  The statements of the evidence.
 */
function coverageSources(
  view: PreparedView,
  { hidden }: FittedWindow,
  memory: Memory,
  gap: Gap | undefined,
  messageIndex: number,
  quoted: readonly { id: number; cold: ThemePlace | undefined }[],
  found: { statements: readonly OfferedStatement[]; messageIndex: number } = { statements: [], messageIndex },
): Coverage {
  const summaries = new Map<string, SummarySource>();
  const themeCounts = new Map(memory.themes.map(({ theme, coldCount }) => [theme, coldCount]));
  let gapCount = gap?.messageCount ?? 0;
  // A pointer line names all that is left out if the themes have no lines.
  const leave = (theme: number | undefined, count: number): void => {
    const named = theme === undefined ? undefined : themeCounts.get(theme);
    if (named === undefined) gapCount -= count;
    else themeCounts.set(theme!, named - count);
  };
  for (const said of [{ statements: memory.statements, messageIndex }, found]) {
    for (const { theme, summary, view: shown, coldCount } of said.statements.map(({ of }) => of)) {
      const key = keyOf({ theme, summary });
      if (summaries.has(key)) continue;
      const { handle, seqFirst, seqLast } = shown;
      const { messageIndex } = said;
      summaries.set(key, { how: "summary", messageIndex, handle, seqFirst, seqLast, messageCount: coldCount });
      leave(theme, coldCount);
    }
  }

  const quotedIds = new Set(quoted.map(({ id }) => id));
  for (const { id } of hidden) {
    const place = view.overlap.get(id);
    const summary = place === undefined || quotedIds.has(id) ? undefined : summaries.get(keyOf(place));
    if (summary === undefined) continue;
    summary.messageCount++;
    gapCount--;
  }
  for (const { cold } of quoted) {
    const summary = cold && summaries.get(keyOf(cold));
    if (summary !== undefined) summary.messageCount--;
    else leave(cold?.theme, 1);
  }

  const omitted: Omission[] = [];
  if (gap !== undefined) {
    const { seqFirst, seqLast } = gap;
    omitted.push({ kind: "range", messageIndex, seqFirst, seqLast, messageCount: gapCount });
  }
  for (const { theme, view: themeView } of memory.themes) {
    const { handle, seqFirst, seqLast } = themeView;
    const messageCount = themeCounts.get(theme)!;
    if (messageCount > 0) omitted.push({ kind: "theme", messageIndex, handle, seqFirst, seqLast, messageCount });
  }
  return { summaries: [...summaries.values()], omitted };
}

function keyOf({ theme, summary }: ThemePlace): string {
  return `${theme}/${summary}`;
}
