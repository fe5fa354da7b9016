import { element, escapeText } from "../core/markup.ts";
import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { lineTokens, tokenSum } from "./costs.ts";
import { messageElement } from "./message-element.ts";
import type { Step } from "./steps.ts";
import type { SummaryView } from "./view.ts";

/** Characters that a shortened step keeps of each message that is not a tool message. */
const SHORTENED_CHARS_MAX = 600;

/** A piece of a theme that the memory block shows: a summary, or a step as text. */
export type MemoryItem = SummaryItem | StepItem;

interface ItemText {
  seqFirst: number;
  /** The number of messages that it shows or covers and that have left the window. */
  messageCount: number;
  text: string;
  /** The tokens of the text and its line break. */
  tokenCount: number;
}

export interface SummaryItem extends ItemText {
  kind: "summary";
  summary: SummaryView;
  /** Index into the theme's `summaries`. */
  summaryIndex: number;
}

export interface StepItem extends ItemText {
  kind: "step";
  messages: { messageId: number; seq: number; how: "verbatim" | "shortened" }[];
}

export function summaryItem(
  summary: SummaryView,
  summaryIndex: number,
  messageCount: number,
  tokenCounter: TokenCounter,
): SummaryItem {
  const text = summaryElement("summary", summary);
  const tokenCount = lineTokens(text, tokenCounter);
  return { kind: "summary", summary, summaryIndex, seqFirst: summary.seqFirst, messageCount, text, tokenCount };
}

/** The most characters of one token, in any text worth showing. */
const TOKEN_CHARS_MAX = 8;

/** Returns a lower bound of the tokens that a step costs, without writing it. */
export function stepTokensMin(step: Step, previewCharsMax: number): number {
  return step.messages.reduce(
    (sum, message) => sum + Math.min(message.tokenCount, shortenedCharsMax(message, previewCharsMax) / TOKEN_CHARS_MAX),
    0,
  );
}

/**
 * Writes a step as text.
 *
 * @param verbatimTokensMax  A step that costs more is shortened, so that one large result does not take all the room.
 * @param previewCharsMax  The characters that each tool message of a shortened step keeps.
 */
export function stepItem(
  step: Step,
  verbatimTokensMax: number,
  previewCharsMax: number,
  tokenCounter: TokenCounter,
): StepItem {
  const isWhole = tokenSum(step.messages) <= verbatimTokensMax;
  const elements = step.messages.map((message) =>
    messageElement(message, isWhole ? undefined : shortenedCharsMax(message, previewCharsMax)),
  );
  const text = elements.map((shown) => shown.text).join("\n");
  const messages = step.messages.map(({ id, seq }, index) => {
    const how = elements[index]!.whole ? ("verbatim" as const) : ("shortened" as const);
    return { messageId: id, seq, how };
  });
  const tokenCount = lineTokens(text, tokenCounter);
  return { kind: "step", messages, seqFirst: messages[0]!.seq, messageCount: messages.length, text, tokenCount };
}

export function summaryElement(
  name: "summary" | "theme",
  { handle, messageCount, seqFirst, seqLast, title, text }: SummaryView,
): string {
  const attributes = { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}`, title };
  return element(name, attributes, `\n${escapeText(text)}\n`);
}

function shortenedCharsMax({ role }: Message, previewCharsMax: number): number {
  return role === "tool" ? previewCharsMax : SHORTENED_CHARS_MAX;
}
