import type { SummaryEvidence } from "./evidence.ts";
import type { FittedWindow } from "./fit-window.ts";
import type { Gap } from "./gap.ts";
import type { Memory } from "./memory.ts";
import type { MessageSource, Omission, SummarySource } from "./result.ts";
import type { Piece } from "./steps.ts";
import { restCount } from "./theme-block.ts";
import type { RenderView } from "./view.ts";

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
 * message that the window shows has been claimed as shown.
 */
export function summarySources(view: RenderView, window: FittedWindow, memoryIndex: number): SummarySource[] {
  const hiddenCounts = hiddenCoveredCounts(view, window);
  return shownSummaries(window.memory).map(({ key, evidence }) => {
    const { handle, seqFirst, seqLast } = evidence.summary;
    const messageCount = evidence.messageCount + (hiddenCounts.get(key) ?? 0);
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
  memoryIndex: number,
): Omission[] {
  const omitted: Omission[] = [];
  if (gap !== undefined) {
    const covered = [...hiddenCoveredCounts(view, window).values()].reduce((sum, count) => sum + count, 0);
    const { seqFirst, seqLast } = gap;
    const messageCount = gap.messageCount - covered;
    omitted.push({ kind: "range", messageIndex: memoryIndex, seqFirst, seqLast, messageCount });
  }
  for (const block of window.memory.themes.values()) {
    const messageCount = restCount(block);
    if (messageCount === 0) continue;
    const { handle, seqFirst, seqLast } = block.view;
    omitted.push({ kind: "theme", messageIndex: memoryIndex, handle, seqFirst, seqLast, messageCount });
  }
  return omitted;
}

/** How many hidden messages of the window each shown summary covers. */
function hiddenCoveredCounts(view: RenderView, { hidden, memory }: FittedWindow): Map<string, number> {
  const counts = new Map(shownSummaries(memory).map(({ key }) => [key, 0]));
  for (const { id } of hidden) {
    const place = view.overlap.get(id);
    const key = place === undefined ? "" : `${place.theme}/${place.summary}`;
    const count = counts.get(key);
    if (count !== undefined) counts.set(key, count + 1);
  }
  return counts;
}

function shownSummaries({ themes }: Memory): { key: string; evidence: SummaryEvidence }[] {
  return [...themes].flatMap(([theme, { shown }]) =>
    shown.flatMap((evidence) =>
      evidence.kind === "summary" ? [{ key: `${theme}/${evidence.summaryIndex}`, evidence }] : [],
    ),
  );
}
