import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { SourceText, Summarizer, SummaryText } from "../models/summarizer.ts";
import type { OnUsage } from "../models/usage.ts";
import type { Reservation } from "./call-budget.ts";

/** Tokens of sources handed over in one call; with more, they are read in several, each building on the last. */
const CALL_TOKENS_MAX = 24_000;

/** Characters of a title, which is to be a few words on one line. */
const TITLE_CHARS_MAX = 200;

export interface SummarizeOptions {
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  /** Aborted by the caller, or by the store when it closes. */
  signal: AbortSignal;
  onUsage?: OnUsage;
}

/** What one summary is made from. */
export interface Reading {
  /** Summaries that already cover parts of it, oldest sources first; empty for a full reading. */
  previous: readonly SummaryText[];
  /** What they do not cover, in order. */
  sources: readonly Message[];
  /** Of all that the summary is to stand for. */
  sourceTokenCount: number;
  /** Most tokens of its text. */
  tokensMax: number;
}

/** A reading in calls of bounded size. */
export interface ReadingPlan extends Reading {
  calls: readonly (readonly SourceText[])[];
  /** What they may come to: all that is sent in words of ours and of the messages, and replies of full length. */
  estimate: Reservation;
}

/** What came of a reading. */
export type Outcome =
  | { status: "done"; title: string; text: string; tokenCount: number }
  /** Not shorter than what it stands for. */
  | { status: "inflated"; error: string }
  | { status: "failed"; error: unknown };

export function planReading(reading: Reading, countTokens: (text: string) => number): ReadingPlan {
  const { calls, tokenCount: sourceTokens } = callsOf(reading.sources, countTokens);
  const previousTokens = reading.previous.reduce((sum, { text }) => sum + countTokens(text), 0);
  // Each call after the first is sent what the one before it has written.
  const written = (2 * calls.length - 1) * reading.tokensMax;
  const estimate = { callCount: calls.length, tokenCount: previousTokens + sourceTokens + written };
  return { ...reading, calls, estimate };
}

/**
 * Let the summarizer read. What it does wrong is an outcome, not an error.
 *
 * Never rejects. Where the signal was aborted the outcome says nothing: ask the signal afterwards.
 */
export async function summarize(reading: ReadingPlan, options: SummarizeOptions): Promise<Outcome> {
  const { summarizer, tokenCounter, signal, onUsage } = options;
  const { tokensMax, sourceTokenCount } = reading;
  const countTokens = (text: string): number => tokenCounter.count(text);
  const request = { tokensMax, countTokens, signal, ...(onUsage !== undefined && { onUsage }) };
  let previous: readonly SummaryText[] = reading.previous.map(({ title, text }) => ({ title, text }));
  try {
    for (const sources of reading.calls) {
      const summary = summarizer.summarize({ ...request, previous, sources });
      previous = [checked(await untilAborted(summary, signal), tokensMax, countTokens)];
    }
  } catch (error) {
    return { status: "failed", error };
  }
  const { title, text } = previous[0]!;
  const tokenCount = countTokens(text) + countTokens(title);
  if (tokenCount >= sourceTokenCount) {
    return { status: "inflated", error: `inflated: ${tokenCount} tokens for sources of ${sourceTokenCount}` };
  }
  return { status: "done", title, text, tokenCount };
}

/** The sources in portions of at most `CALL_TOKENS_MAX`, or one without sources where only parts are to be put together. */
function callsOf(
  messages: readonly Message[],
  countTokens: (text: string) => number,
): { calls: SourceText[][]; tokenCount: number } {
  const calls: SourceText[][] = [[]];
  let tokenCount = 0;
  let tokens = 0;
  for (const { seq, role, name, text, createdAtMs } of messages) {
    const cost = countTokens(text);
    if (tokens > 0 && tokens + cost > CALL_TOKENS_MAX) {
      calls.push([]);
      tokens = 0;
    }
    tokens += cost;
    tokenCount += cost;
    calls.at(-1)!.push(name === undefined ? { seq, role, text, createdAtMs } : { seq, role, name, text, createdAtMs });
  }
  return { calls, tokenCount };
}

function checked(summary: SummaryText, tokensMax: number, countTokens: (text: string) => number): SummaryText {
  if (!(summary.title.length <= TITLE_CHARS_MAX))
    throw new Error("the summarizer answered with a title that is no line");
  if (summary.text.trim() === "") throw new Error("the summarizer answered with an empty text");
  const tokens = countTokens(summary.text);
  if (tokens > tokensMax)
    throw new Error(`the summarizer answered with ${tokens} tokens; at most ${tokensMax} were allowed`);
  return summary;
}
