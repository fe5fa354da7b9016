import type { EvidenceMessage } from "./evidence.ts";
import type { FittedWindow } from "./fit-window.ts";
import type { Gap } from "./gap.ts";
import type { Memory } from "./memory.ts";
import type { PreparedView } from "./prepare.ts";
import type { MessageSource, Omission, SummarySource } from "./result.ts";
import type { PricedMessage } from "./steps.ts";
import { unshownCount } from "./theme-block.ts";
import type { ThemePlace } from "./view.ts";

/** @param indexFirst  Index of the first message in the context. */
export function messageSources(messages: readonly PricedMessage[], indexFirst: number): MessageSource[] {
  return messages.flatMap(({ source }, index) => {
    return source === undefined ? [] : [sourceOf(source.message, source.how, indexFirst + index)];
  });
}

/** Returns the messages that the memory block shows as text. */
export function memorySources({ themes }: Memory, memoryIndex: number): MessageSource[] {
  return themes
    .flatMap(({ shown }) => shown.flatMap((item) => (item.kind === "step" ? item.messages : [])))
    .map(({ messageId, seq, how }) => sourceOf({ id: messageId, seq }, how, memoryIndex));
}

/** @param own  The messages of the rendered session that the evidence shows. */
export function evidenceSources(own: readonly EvidenceMessage[], evidenceIndex: number): MessageSource[] {
  return own.map(({ message, how }) => sourceOf(message, how, evidenceIndex));
}

function sourceOf(
  { id: messageId, seq }: { id: number; seq: number },
  how: "verbatim" | "shortened",
  messageIndex: number,
): MessageSource {
  return { how, messageIndex, messageId, seqFirst: seq, seqLast: seq, messageCount: 1 };
}

/**
 * Counts the messages that only a summary or a pointer line represents.
 *
 * A hidden message of the window counts for the summary that covers it, else for the gap. A message that the evidence shows
 * counts for neither, nor for its theme.
 *
 * @param own  The messages of the rendered session that the evidence shows.
 */
export function coverageSources(
  view: PreparedView,
  { hidden, memory }: FittedWindow,
  gap: Gap | undefined,
  own: readonly EvidenceMessage[],
  memoryIndex: number,
): { summaries: SummarySource[]; omitted: Omission[] } {
  const items = memory.themes.flatMap(({ theme, shown }) =>
    shown.flatMap((item) =>
      item.kind === "summary" ? [{ key: keyOf({ theme, summary: item.summaryIndex }), item }] : [],
    ),
  );
  const summaryCounts = new Map(items.map(({ key, item }) => [key, item.messageCount]));
  const themeCounts = new Map(memory.themes.map((block) => [block.theme, unshownCount(block)]));
  let gapCount = gap?.messageCount ?? 0;

  const ownIds = new Set(own.map(({ message }) => message.id));
  for (const { id } of hidden) {
    const place = view.overlap.get(id);
    const key = place === undefined || ownIds.has(id) ? "" : keyOf(place);
    if (!summaryCounts.has(key)) continue;
    summaryCounts.set(key, summaryCounts.get(key)! + 1);
    gapCount--;
  }
  for (const { cold } of own) {
    if (cold === undefined || memory.text === undefined) gapCount--;
    else if (summaryCounts.has(keyOf(cold))) summaryCounts.set(keyOf(cold), summaryCounts.get(keyOf(cold))! - 1);
    else themeCounts.set(cold.theme, themeCounts.get(cold.theme)! - 1);
  }

  const summaries = items.map(({ key, item }): SummarySource => {
    const { handle, seqFirst, seqLast } = item.summary;
    return {
      how: "summary",
      messageIndex: memoryIndex,
      handle,
      seqFirst,
      seqLast,
      messageCount: summaryCounts.get(key)!,
    };
  });
  const omitted: Omission[] = [];
  if (gap !== undefined) omitted.push({ kind: "range", messageIndex: memoryIndex, ...gap, messageCount: gapCount });
  for (const block of memory.themes) {
    if (unshownCount(block) === 0) continue;
    const { handle, seqFirst, seqLast } = block.view;
    const messageCount = themeCounts.get(block.theme)!;
    omitted.push({ kind: "theme", messageIndex: memoryIndex, handle, seqFirst, seqLast, messageCount });
  }
  return { summaries, omitted };
}

/** Names a summary of a theme, or the part of a theme that no summary covers. */
function keyOf({ theme, summary }: ThemePlace): string {
  return `${theme}/${summary}`;
}
