import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { SourceText, Summarizer, SummaryText } from "../models/summarizer.ts";

/** Tokens of sources handed over in one call; with more, they are read in several, each building on the last. */
const CALL_TOKENS_MAX = 24_000;

/** Characters of a title, which is to be a few words on one line. */
const TITLE_CHARS_MAX = 200;

export interface SummarizeOptions {
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  /** Aborted by the caller, or by the store when it closes. */
  signal: AbortSignal;
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

/** What came of a reading. */
export type Outcome =
  | { status: "done"; title: string; text: string; tokenCount: number }
  | { status: "failed" | "parked"; error: string };

/**
 * Let the summarizer read. What it does wrong is an outcome, not an error.
 *
 * Never rejects. Where the signal was aborted the outcome says nothing: ask the signal afterwards.
 */
export async function summarize(reading: Reading, options: SummarizeOptions): Promise<Outcome> {
  const { summarizer, tokenCounter, signal } = options;
  const { tokensMax, sourceTokenCount } = reading;
  const countTokens = (text: string): number => tokenCounter.count(text);
  let previous: readonly SummaryText[] = reading.previous.map(({ title, text }) => ({ title, text }));
  try {
    for (const sources of callsOf(reading.sources, countTokens)) {
      const summary = summarizer.summarize({ previous, sources, tokensMax, countTokens, signal });
      previous = [checked(await untilAborted(summary, signal), tokensMax, countTokens)];
    }
  } catch (error) {
    return { status: "failed", error: error instanceof Error ? error.message : String(error) };
  }
  const { title, text } = previous[0]!;
  const tokenCount = countTokens(text) + countTokens(title);
  if (tokenCount >= sourceTokenCount) {
    return { status: "parked", error: `inflated: ${tokenCount} tokens for sources of ${sourceTokenCount}` };
  }
  return { status: "done", title, text, tokenCount };
}

/** The sources in portions of at most `CALL_TOKENS_MAX`, or one without sources where only parts are to be put together. */
function callsOf(messages: readonly Message[], countTokens: (text: string) => number): SourceText[][] {
  const calls: SourceText[][] = [[]];
  let tokens = 0;
  for (const { seq, role, name, text, createdAtMs } of messages) {
    const cost = countTokens(text);
    if (tokens > 0 && tokens + cost > CALL_TOKENS_MAX) {
      calls.push([]);
      tokens = 0;
    }
    tokens += cost;
    calls.at(-1)!.push(name === undefined ? { seq, role, text, createdAtMs } : { seq, role, name, text, createdAtMs });
  }
  return calls;
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
