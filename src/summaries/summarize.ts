import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { oneLine } from "../models/lines.ts";
import type { OnUsage, SourceText, Summarizer, SummaryText } from "../models/summarizer.ts";
import type { Reservation } from "./call-budget.ts";
import type { Consequence } from "./next-try.ts";

/** The most tokens of sources in one call. If there are more, several calls are made, and each extends the last summary. */
export const CALL_TOKENS_MAX = 24_000;

const TITLE_CHARS_MAX = 200;

export interface SummarizeOptions {
  sessionId: string;
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  signal: AbortSignal;
  onUsage?: OnUsage;
  /** Called before each call with the most tokens that it may take. */
  onCall?: (tokenCount: number) => void;
  onSend?: () => void;
}

export interface Reading {
  /** The summary that this one replaces, if there is one. */
  previous: readonly SummaryText[];
  /** The messages that `previous` does not cover, in order. */
  sources: readonly Message[];
  /** The tokens of all messages that the summary covers. */
  sourceTokenCount: number;
  tokensMax: number;
}

export interface ReadingPlan extends Reading {
  calls: readonly PlannedCall[];
  /** The number of calls, and the most tokens that they may take. */
  estimate: Reservation;
}

interface PlannedCall {
  sources: SourceText[];
  /** The tokens sent, plus those of the longest reply. */
  tokenCount: number;
}

export type Outcome =
  | { status: "done"; title: string; text: string; tokenCount: number }
  /** The summary is not shorter than its sources. */
  | (Consequence & { status: "parked" })
  | { status: "failed"; error: unknown };

export function planReading(reading: Reading, tokenCounter: TokenCounter): ReadingPlan {
  const { previous, tokensMax } = reading;
  const countTokens = (text: string): number => tokenCounter.count(text);
  const previousTokens = previous.reduce((sum, { text }) => sum + countTokens(text), 0);
  const calls = portionsOf(reading.sources, countTokens);
  for (const [index, call] of calls.entries()) {
    // Each call after the first also sends the last summary.
    call.tokenCount += (index === 0 ? previousTokens : tokensMax) + tokensMax;
  }
  const tokenCount = calls.reduce((sum, call) => sum + call.tokenCount, 0);
  return { ...reading, calls, estimate: { callCount: calls.length, tokenCount } };
}

/** Calls the summarizer. It never rejects, because an error is an outcome. After an abort, the outcome means nothing. */
export async function summarize(reading: ReadingPlan, options: SummarizeOptions): Promise<Outcome> {
  const { sessionId, summarizer, tokenCounter, signal, onUsage, onCall, onSend } = options;
  const { tokensMax, sourceTokenCount } = reading;
  const countTokens = (text: string): number => tokenCounter.count(text);
  const request = { sessionId, tokensMax, countTokens, signal, ...(onUsage && { onUsage }), ...(onSend && { onSend }) };
  let previous: readonly SummaryText[] = reading.previous.map(({ title, text }) => ({ title, text }));
  try {
    for (const { sources, tokenCount } of reading.calls) {
      onCall?.(tokenCount);
      const summary = (async () => summarizer.summarize({ ...request, previous, sources }))();
      previous = [checked(await untilAborted(summary, signal), tokensMax, countTokens)];
    }
    const { title, text } = previous[0]!;
    const tokenCount = countTokens(text) + countTokens(title);
    if (tokenCount < sourceTokenCount) return { status: "done", title, text, tokenCount };
    const error = `inflated: ${tokenCount} tokens for sources of ${sourceTokenCount}`;
    return { status: "parked", error, errorCode: null, nextTryAtMs: null, pauses: false };
  } catch (error) {
    return { status: "failed", error };
  }
}

/** Splits the sources into portions of at most `CALL_TOKENS_MAX`. A longer message is a portion of its own. */
function portionsOf(messages: readonly Message[], countTokens: (text: string) => number): PlannedCall[] {
  let portion: PlannedCall = { sources: [], tokenCount: 0 };
  const portions = [portion];
  for (const { seq, role, name, text, createdAtMs } of messages) {
    const cost = countTokens(text);
    if (portion.tokenCount > 0 && portion.tokenCount + cost > CALL_TOKENS_MAX) {
      portion = { sources: [], tokenCount: 0 };
      portions.push(portion);
    }
    portion.tokenCount += cost;
    portion.sources.push({ seq, role, ...(name !== undefined && { name }), text, createdAtMs });
  }
  return portions;
}

/** Returns a valid summary: its title on one line, and the statements that fit. @throws if there is none. */
function checked(summary: SummaryText, tokensMax: number, countTokens: (text: string) => number): SummaryText {
  const { title, text } = summary;
  if (typeof title !== "string" || title.length > TITLE_CHARS_MAX)
    throw new Error(`the summarizer answered with a title that is not a text of at most ${TITLE_CHARS_MAX} characters`);
  if (typeof text !== "string" || text.trim() === "") throw new Error("the summarizer answered with an empty text");
  const tokens = countTokens(text);
  const kept = tokens > tokensMax ? statementsThatFit(text, tokensMax, countTokens) : text;
  if (kept === "")
    throw new Error(
      `each statement of the summarizer's ${tokens} tokens has more than the ${tokensMax} that were allowed`,
    );
  return { title: oneLine(title), text: kept };
}

/** Returns the lines, from the first on, that fit together. A line that is too long for the rest of the room is left out. */
function statementsThatFit(text: string, tokensMax: number, countTokens: (text: string) => number): string {
  let kept = "";
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const longer = kept === "" ? line : `${kept}\n${line}`;
    if (countTokens(longer) <= tokensMax) kept = longer;
  }
  return kept;
}
