import type { SummaryEvidence } from "./evidence.ts";
import type { FittedWindow } from "./fit-window.ts";
import type { Gap } from "./gap.ts";
import type { Memory } from "./memory.ts";
import type { RecalledMessage } from "./recalled.ts";
import type { MessageSource, Omission, SummarySource } from "./result.ts";
import type { Piece } from "./steps.ts";
import { restCount } from "./theme-block.ts";
import type { OverlapView, RenderView } from "./view.ts";

/** @param indexFirst  Index of the first piece among the rendered messages. */
export function pieceSources(pieces: readonly Piece[], indexFirst: number): MessageSource[] {
  return pieces.flatMap(({ source }, index) => {
    if (source === undefined) return [];
    return [messageSource(source.message.id, source.message.seq, source.how, indexFirst + index)];
  });
}

/** Messages that stand in the memory block as text. */
export function evidenceSources({ themes }: Memory, memoryIndex: number): MessageSource[] {
  return [...themes.values()]
    .flatMap(({ shown }) => shown)
    .flatMap((evidence) => (evidence.kind === "step" ? evidence.messages : []))
    .map(({ messageId, seq, how }) => messageSource(messageId, seq, how, memoryIndex));
}

/** Messages of the session itself that the evidence block shows. They claim before the lines that stand for them too. */
export function recalledSources(own: readonly RecalledMessage[], recallIndex: number): MessageSource[] {
  return own.map(({ message, how }) => messageSource(message.id, message.seq, how, recallIndex));
}

function messageSource(
  messageId: number,
  seq: number,
  how: "verbatim" | "shortened",
  messageIndex: number,
): MessageSource {
  return { how, messageIndex, messageId, seqFirst: seq, seqLast: seq, messageCount: 1 };
}

/**
 * Summaries in the memory block. They claim what they cover of the cold part, and of the window what is hidden: a
 * message that the window or the evidence block shows has been claimed as shown.
 *
 * @param own  Messages of the session that the evidence block shows.
 */
export function summarySources(
  view: RenderView,
  window: FittedWindow,
  own: readonly RecalledMessage[],
  memoryIndex: number,
): SummarySource[] {
  const hiddenCounts = hiddenCoveredCounts(view, window, own);
  return shownSummaries(window.memory).map(({ key, evidence }) => {
    const { handle, seqFirst, seqLast } = evidence.summary;
    const recalledCount = own.filter(({ cold }) => cold !== undefined && keyOf(cold) === key).length;
    const messageCount = evidence.messageCount + (hiddenCounts.get(key) ?? 0) - recalledCount;
    return { how: "summary", messageIndex: memoryIndex, handle, seqFirst, seqLast, messageCount };
  });
}

/**
 * What the pointer lines claim. The gap goes first: it names the hidden messages of the window, so that those of them
 * that are in a theme too are not left for the theme's line.
 */
export function omissions(
  view: RenderView,
  window: FittedWindow,
  gap: Gap | undefined,
  own: readonly RecalledMessage[],
  memoryIndex: number,
): Omission[] {
  const omitted: Omission[] = [];
  const hasMemory = window.memory.text !== undefined;
  if (gap !== undefined) {
    const covered = [...hiddenCoveredCounts(view, window, own).values()].reduce((sum, count) => sum + count, 0);
    const recalledCount = own.filter(({ cold }) => cold === undefined || !hasMemory).length;
    const { seqFirst, seqLast } = gap;
    const messageCount = gap.messageCount - covered - recalledCount;
    omitted.push({ kind: "range", messageIndex: memoryIndex, seqFirst, seqLast, messageCount });
  }
  const summarized = new Set(shownSummaries(window.memory).map(({ key }) => key));
  for (const [theme, block] of window.memory.themes) {
    if (restCount(block) === 0) continue;
    const recalled = own.filter(({ cold }) => cold?.theme === theme && !summarized.has(keyOf(cold)));
    const messageCount = restCount(block) - recalled.length;
    const { handle, seqFirst, seqLast } = block.view;
    omitted.push({ kind: "theme", messageIndex: memoryIndex, handle, seqFirst, seqLast, messageCount });
  }
  return omitted;
}

/** How many hidden messages of the window each shown summary covers, but for those that the evidence block shows. */
function hiddenCoveredCounts(
  view: RenderView,
  { hidden, memory }: FittedWindow,
  own: readonly RecalledMessage[],
): Map<string, number> {
  const counts = new Map(shownSummaries(memory).map(({ key }) => [key, 0]));
  const recalled = new Set(own.map(({ message }) => message.id));
  for (const { id } of hidden) {
    const place = view.overlap.get(id);
    const key = place === undefined || recalled.has(id) ? "" : keyOf(place);
    const count = counts.get(key);
    if (count !== undefined) counts.set(key, count + 1);
  }
  return counts;
}

function shownSummaries({ themes }: Memory): { key: string; evidence: SummaryEvidence }[] {
  return [...themes].flatMap(([theme, { shown }]) =>
    shown.flatMap((evidence) =>
      evidence.kind === "summary" ? [{ key: keyOf({ theme, summary: evidence.summaryIndex }), evidence }] : [],
    ),
  );
}

/** Names a summary of a theme, or what none covers. */
function keyOf({ theme, summary }: OverlapView): string {
  return `${theme}/${summary}`;
}
