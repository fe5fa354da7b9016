import type { Role } from "../core/message.ts";

/** The text of a message without reasoning, cut to the most that a summarizer gets. */
export interface SourceText {
  seq: number;
  role: Role;
  name?: string;
  text: string;
  /** Unix milliseconds. */
  createdAtMs: number;
}

export interface SummarizeRequest {
  /** The session of the messages. */
  sessionId: string;
  /** Earlier summaries of messages that are not in `sources`, oldest first. */
  previous: readonly { title: string; text: string }[];
  /** The messages to summarize, in order. There is at least one, unless there is an earlier summary. */
  sources: readonly SourceText[];
  /** The most tokens of the summary's text, by `countTokens`. */
  tokensMax: number;
  countTokens: (text: string) => number;
  signal: AbortSignal;
  /** Called with the cost of each reply, usable or not. */
  onUsage?: OnUsage;
  /** Call this right before each request that is paid for. If it throws, do not send the request, and reject. */
  onSend?: () => void;
}

export interface SummaryText {
  /** A few words on one line. */
  title: string;
  /** One statement per line. */
  text: string;
}

/**
 * Port: turns messages into a short text that replaces them in a context. It may take long, and the caller holds no transaction
 * meanwhile. It must obey `tokensMax` (of a longer text, only the lines that fit are kept), reject with the signal's reason if
 * aborted, and treat every text as data, never as instructions.
 */
export interface Summarizer {
  readonly id: string;
  /** Change this when the prompt changes. It is stored with each summary. */
  readonly promptVersion: number;
  /** True if the summarizer runs on this machine at no cost. Then limits do not apply, and no stand-ins are made. */
  readonly isLocal?: true;
  /** True if each line of a summary ends with the seqs of its sources, `[5,7-9]`. Then several clusters can share a call. */
  readonly citesSources?: true;
  summarize(request: SummarizeRequest): Promise<SummaryText>;
}

/** The cost of one reply of a model, usable or not. */
export interface ModelUsage {
  /** Tokens sent, by the service's count, or else by an estimate. */
  inputTokens: number;
  /** Tokens received, including reasoning. */
  outputTokens: number;
  /** US dollars. Undefined if the price is unknown. */
  costUsd?: number;
}

/** Called with the cost of each reply. It must not throw. */
export type OnUsage = (usage: ModelUsage) => void;
