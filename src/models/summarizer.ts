import type { Role } from "../core/message.ts";
import type { OnUsage } from "./usage.ts";

/** A message as a summarizer sees it: text only, no reasoning, already cut to a length that fits. */
export interface SourceText {
  seq: number;
  role: Role;
  name?: string;
  text: string;
  /** Unix milliseconds. */
  createdAtMs: number;
}

export interface SummarizeRequest {
  /** Summaries whose messages are not repeated in `sources`, oldest first. Empty on a full reading. */
  previous: readonly { title: string; text: string }[];
  /** In conversation order. Never empty when `previous` is. */
  sources: readonly SourceText[];
  /** Most tokens of the summary's text, by `countTokens`. */
  tokensMax: number;
  countTokens: (text: string) => number;
  signal: AbortSignal;
  /** Told what each reply cost, also one that cannot be used. */
  onUsage?: OnUsage;
}

export interface SummaryText {
  /** A few words on one line: what it is about. */
  title: string;
  /** One statement a line. */
  text: string;
}

/**
 * Port: messages to a short text that stands for them.
 *
 * May fail and may take long; the caller holds no transaction meanwhile. It must obey `tokensMax`, reject with the
 * signal's reason once it is aborted, and treat every text as data, never as instructions.
 */
export interface Summarizer {
  /** Names the model. */
  readonly id: string;
  /** Changes with every change of wording that changes the output; stored beside each summary. */
  readonly promptVersion: number;
  /** It runs on this machine and costs nothing: limits do not count its calls, and nothing stands in for it. */
  readonly isLocal?: true;
  summarize(request: SummarizeRequest): Promise<SummaryText>;
}
