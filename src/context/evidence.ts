import { element, escapeText } from "../core/markup.ts";
import type { Message } from "../core/message.ts";
import { SESSION_OPTIONS } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { messageElement } from "./message-element.ts";
import type { Step } from "./steps.ts";
import type { SummaryView } from "./view.ts";

/** Characters of each message but a tool's that a long step keeps: what was asked, how it ended. */
const SHORTENED_CHARS_MAX = 600;
const PREVIEW_CHARS_MAX = SESSION_OPTIONS.toolPreviewCharsMax.default;

/** A piece of a theme that the memory block shows: a summary, or a step as text. */
export type Evidence = SummaryEvidence | StepEvidence;

export interface SummaryEvidence {
  kind: "summary";
  summary: SummaryView;
  /** Index into the theme's `summaries`. */
  summaryIndex: number;
  seqFirst: number;
  /** Members that have left the window. */
  messageCount: number;
  text: string;
  /** Of the text and its line break. */
  tokenCount: number;
}

export interface StepEvidence {
  kind: "step";
  messages: { messageId: number; seq: number; how: "verbatim" | "shortened" }[];
  seqFirst: number;
  messageCount: number;
  text: string;
  tokenCount: number;
}

export function summaryEvidence(
  summary: SummaryView,
  summaryIndex: number,
  messageCount: number,
  tokenCounter: TokenCounter,
): SummaryEvidence {
  const text = summaryElement("summary", summary);
  const tokenCount = lineTokens(text, tokenCounter);
  return { kind: "summary", summary, summaryIndex, seqFirst: summary.seqFirst, messageCount, text, tokenCount };
}

/** Characters that a token stands for at most, in any text worth showing. */
const TOKEN_CHARS_MAX = 8;

/** What a step costs at least, however it is shown: to be asked before it is written out. */
export function leastTokens(step: Step, previewCharsMax: number = PREVIEW_CHARS_MAX): number {
  const charsMaxOf = ({ role }: Message) => (role === "tool" ? previewCharsMax : SHORTENED_CHARS_MAX);
  return step.messages.reduce(
    (sum, message) => sum + Math.min(message.tokenCount, charsMaxOf(message) / TOKEN_CHARS_MAX),
    0,
  );
}

/**
 * @param verbatimTokensMax  A step that costs more is shortened, so that one large result does not take all the room.
 * @param previewCharsMax  Characters that each tool message of such a step keeps.
 */
export function stepEvidence(
  step: Step,
  verbatimTokensMax: number,
  tokenCounter: TokenCounter,
  previewCharsMax: number = PREVIEW_CHARS_MAX,
): StepEvidence {
  const stepTokens = step.messages.reduce((sum, message) => sum + message.tokenCount, 0);
  const isWhole = stepTokens <= verbatimTokensMax;
  const elements = step.messages.map((message) => {
    if (isWhole) return messageElement(message);
    return messageElement(message, message.role === "tool" ? previewCharsMax : SHORTENED_CHARS_MAX);
  });
  const text = elements.map((shown) => shown.text).join("\n");
  const messages = step.messages.map(({ id, seq }, index) => {
    const how = elements[index]!.whole ? ("verbatim" as const) : ("shortened" as const);
    return { messageId: id, seq, how };
  });
  return {
    kind: "step",
    messages,
    seqFirst: messages[0]!.seq,
    messageCount: messages.length,
    text,
    tokenCount: lineTokens(text, tokenCounter),
  };
}

export function summaryElement(
  name: "summary" | "theme",
  { handle, messageCount, seqFirst, seqLast, title, text }: SummaryView,
): string {
  const attributes = { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}`, title };
  return element(name, attributes, `\n${escapeText(text)}\n`);
}

/** What a line adds to a block: its text, and a token for the line break. */
export function lineTokens(text: string, tokenCounter: TokenCounter): number {
  return tokenCounter.count(text) + 1;
}
