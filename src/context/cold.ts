import { assert } from "../core/assert.ts";
import { groupSteps, type Step } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** What has left the window, counted. Members that are still in it are shown or named there. */
export interface ColdTheme {
  /** Index into the view's themes. */
  theme: number;
  /** Members that have left the window, at least 1. */
  messageCount: number;
  /** How many of these each of the theme's summaries covers. */
  summaryMessageCounts: number[];
}

/** Messages that are neither pinned nor in the window. */
export function coldMessageCount(view: RenderView): number {
  return view.messageCount - view.pinned.length - view.window.length;
}

/** Themes that have cold members, in the view's order. */
export function coldThemes(view: RenderView): ColdTheme[] {
  const themes = view.themes.map(({ messageCount, summaries }, theme) => {
    return { theme, messageCount, summaryMessageCounts: summaries.map((summary) => summary.messageCount) };
  });
  for (const { theme, summary } of view.overlap.values()) {
    const counts = themes[theme]!;
    counts.messageCount--;
    if (summary !== undefined) counts.summaryMessageCounts[summary]!--;
  }
  for (const { theme, messageCount, summaryMessageCounts } of themes) {
    const covered = summaryMessageCounts.reduce((sum, count) => sum + count, 0);
    const { handle, uncoveredCount } = view.themes[theme]!;
    assert(covered + uncoveredCount === messageCount, `${handle} is its covered and its uncovered members`);
  }
  return themes.filter((theme) => theme.messageCount > 0);
}

/** Summaries that stand for something cold, newest first. */
export function summariesNewestFirst(view: RenderView, themes: readonly ColdTheme[]) {
  return themes
    .flatMap(({ theme, summaryMessageCounts }) =>
      summaryMessageCounts.map((messageCount, summaryIndex) => {
        const summary = view.themes[theme]!.summaries[summaryIndex]!;
        return { theme, summaryIndex, summary, messageCount };
      }),
    )
    .filter(({ messageCount }) => messageCount > 0)
    .sort((left, right) => right.summary.seqLast - left.summary.seqLast);
}

/** Steps at hand that no summary covers, newest first. */
export function uncoveredNewestFirst(view: RenderView, themes: readonly ColdTheme[]): { theme: number; step: Step }[] {
  return themes
    .flatMap(({ theme }) => groupSteps(view.themes[theme]!.uncovered).map((step) => ({ theme, step })))
    .sort((left, right) => right.step.messages[0]!.seq - left.step.messages[0]!.seq);
}
