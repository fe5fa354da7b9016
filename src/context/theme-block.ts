import { element } from "../core/markup.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { type Evidence, lineTokens, type SummaryEvidence, summaryElement } from "./evidence.ts";
import type { ThemeView } from "./view.ts";

/**
 * One theme of the memory block: a pointer line at first, an element once anything of it is shown.
 *
 * What is not shown stays named: `<pointer messages="4"/>` inside the element stands for that many more members of the
 * theme. A theme that one summary covers altogether is that summary, without a frame around it.
 */
export interface ThemeBlock {
  view: ThemeView;
  /** Members that have left the window, at least 1. */
  coldCount: number;
  shown: readonly Evidence[];
}

/** Cold members that nothing shown stands for. */
export function restCount({ coldCount, shown }: ThemeBlock): number {
  return coldCount - shown.reduce((sum, evidence) => sum + evidence.messageCount, 0);
}

/** With one more piece of evidence: summaries stand before steps, each oldest first. */
export function withEvidence(block: ThemeBlock, evidence: Evidence): ThemeBlock {
  const rank = ({ kind }: Evidence) => (kind === "summary" ? 0 : 1);
  const shown = [...block.shown, evidence].sort(
    (left, right) => rank(left) - rank(right) || left.seqFirst - right.seqFirst,
  );
  return { ...block, shown };
}

export function withoutEvidence(block: ThemeBlock, evidence: Evidence): ThemeBlock {
  return { ...block, shown: block.shown.filter((shown) => shown !== evidence) };
}

export function themeText(block: ThemeBlock): string {
  if (block.shown.length === 0) return element("pointer", attributesOf(block.view));
  const whole = wholeSummary(block);
  if (whole !== undefined) return summaryElement("theme", whole.summary);
  const lines = block.shown.map((evidence) => evidence.text);
  if (restCount(block) > 0) lines.push(restPointer(block));
  return element("theme", attributesOf(block.view), `\n${lines.join("\n")}\n`);
}

/** About what `themeText` costs with its line break: the sum of its lines. */
export function themeTokens(block: ThemeBlock, tokenCounter: TokenCounter): number {
  if (block.shown.length === 0) return lineTokens(themeText(block), tokenCounter);
  let tokenCount = block.shown.reduce((sum, evidence) => sum + evidence.tokenCount, 0);
  if (wholeSummary(block) === undefined)
    tokenCount += lineTokens(element("theme", attributesOf(block.view), "\n"), tokenCounter);
  if (restCount(block) > 0) tokenCount += lineTokens(restPointer(block), tokenCounter);
  return tokenCount;
}

/** The summary that alone stands for everything cold in the theme. */
function wholeSummary(block: ThemeBlock): SummaryEvidence | undefined {
  const [first, ...others] = block.shown;
  return first?.kind === "summary" && others.length === 0 && restCount(block) === 0 ? first : undefined;
}

function restPointer(block: ThemeBlock): string {
  return element("pointer", { messages: restCount(block) });
}

function attributesOf({ handle, messageCount, seqFirst, seqLast, label }: ThemeView) {
  return { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}`, title: label };
}
