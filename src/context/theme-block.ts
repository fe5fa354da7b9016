import { assert } from "../core/assert.ts";
import { element } from "../core/markup.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { lineTokens, tokenSum } from "./costs.ts";
import { type MemoryItem, type SummaryItem, summaryElement } from "./memory-items.ts";
import type { RenderView, ThemeView } from "./view.ts";

/**
 * One theme of the memory block. A theme without shown items is a pointer line, any other an element with its items.
 *
 * Inside the element, `<pointer messages="4"/>` counts the members that no item shows. If one summary covers the whole theme,
 * the theme is written as this summary.
 */
export interface ThemeBlock {
  /** Index into the view's themes. */
  theme: number;
  view: ThemeView;
  /** The number of members that have left the window, at least 1. */
  coldCount: number;
  /** How many of the cold members each of the theme's summaries covers. */
  coveredCounts: readonly number[];
  shown: readonly MemoryItem[];
}

/** Returns the themes that have cold members, in the view's order, with nothing shown yet. */
export function coldThemeBlocks({ themes, overlap }: RenderView): ThemeBlock[] {
  const blocks = themes.map((view, theme) => ({
    theme,
    view,
    coldCount: view.messageCount,
    coveredCounts: view.summaries.map((summary) => summary.messageCount),
    shown: [],
  }));
  for (const { theme, summary } of overlap.values()) {
    blocks[theme]!.coldCount--;
    if (summary !== undefined) blocks[theme]!.coveredCounts[summary]!--;
  }
  for (const { view, coldCount, coveredCounts } of blocks) {
    const covered = coveredCounts.reduce((sum, count) => sum + count, 0);
    assert(covered + view.uncoveredCount === coldCount, `${view.handle} is its covered and its uncovered members`);
  }
  return blocks.filter(({ coldCount }) => coldCount > 0);
}

/** Returns the number of cold members that no shown item represents. */
export function unshownCount({ coldCount, shown }: ThemeBlock): number {
  return coldCount - shown.reduce((sum, item) => sum + item.messageCount, 0);
}

/** Adds an item. Summaries come before steps, each oldest first. */
export function withItem(block: ThemeBlock, item: MemoryItem): ThemeBlock {
  const rank = ({ kind }: MemoryItem) => (kind === "summary" ? 0 : 1);
  const shown = [...block.shown, item].sort(
    (left, right) => rank(left) - rank(right) || left.seqFirst - right.seqFirst,
  );
  return { ...block, shown };
}

export function themeText(block: ThemeBlock): string {
  if (block.shown.length === 0) return element("pointer", attributesOf(block.view));
  const whole = wholeSummary(block);
  if (whole !== undefined) return summaryElement("theme", whole.summary);
  const lines = block.shown.map((item) => item.text);
  if (unshownCount(block) > 0) lines.push(unshownPointer(block));
  return element("theme", attributesOf(block.view), `\n${lines.join("\n")}\n`);
}

/** Estimates the tokens of `themeText` and its line break by the sum of its lines. */
export function themeTokens(block: ThemeBlock, tokenCounter: TokenCounter): number {
  if (block.shown.length === 0) return lineTokens(themeText(block), tokenCounter);
  const lines: string[] = [];
  if (wholeSummary(block) === undefined) lines.push(element("theme", attributesOf(block.view), "\n"));
  if (unshownCount(block) > 0) lines.push(unshownPointer(block));
  return tokenSum(block.shown) + lines.reduce((sum, line) => sum + lineTokens(line, tokenCounter), 0);
}

/** Returns the summary that covers all cold members, if it is the only shown item. */
function wholeSummary(block: ThemeBlock): SummaryItem | undefined {
  const [first, ...others] = block.shown;
  return first?.kind === "summary" && others.length === 0 && unshownCount(block) === 0 ? first : undefined;
}

function unshownPointer(block: ThemeBlock): string {
  return element("pointer", { messages: unshownCount(block) });
}

function attributesOf({ handle, messageCount, seqFirst, seqLast, label }: ThemeView) {
  return { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}`, title: label };
}
