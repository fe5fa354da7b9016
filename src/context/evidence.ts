import type { TokenCounter } from "../core/tokens.ts";
import { element, escapeText } from "./escape.ts";
import { messageElement } from "./message-element.ts";
import type { Step } from "./steps.ts";
import type { SummaryView } from "./view.ts";

/** Characters of each message that a long step keeps: what was asked, how it ended. */
const SHORTENED_CHARS_MAX = 600;

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

/** @param verbatimTokensMax  A step that costs more is shortened, so that one large result does not take all the room. */
export function stepEvidence(step: Step, verbatimTokensMax: number, tokenCounter: TokenCounter): StepEvidence {
  const stepTokens = step.messages.reduce((sum, message) => sum + message.tokenCount, 0);
  const charsMax = stepTokens <= verbatimTokensMax ? undefined : SHORTENED_CHARS_MAX;
  const elements = step.messages.map((message) => messageElement(message, charsMax));
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
