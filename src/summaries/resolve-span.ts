import type { Clock } from "../core/clock.ts";
import type { Message } from "../core/message.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSpan, SpanContent, SpanStrategy } from "../store/spans.ts";
import { recordSpan } from "../store/write.ts";
import { readingOf } from "./reading.ts";
import { dueSplit, fullSplit, type SplitOptions, spanRow } from "./span.ts";
import { type Split, SUMMARY_SHARE } from "./split.ts";
import { type SummarizeOptions, summarize } from "./summarize.ts";

/** Tokens of a summary that was asked for under a larger budget than it is made for: one statement. */
const SUMMARY_TOKENS_MIN = 20;

export interface SpanOptions extends SplitOptions, SummarizeOptions {
  clock: Clock;
}

/** A stretch that wants a summary. */
interface DirtySpan {
  split: Split;
  content: SpanContent;
  /** The summary of its older part; undefined for a full reading. */
  previous: DoneSpan | undefined;
  sources: Message[];
  summaryTokensMax: number;
  readingDepth: number;
  attempts: number;
}

/**
 * Summarize what the context is to be compacted by, if it is full enough or `compact` has asked: one call for one summary,
 * from the last one and the messages since.
 *
 * @returns what became of it; undefined if there was nothing to do.
 * @throws the signal's reason if it is aborted.
 */
export async function resolveSpan(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SpanOptions,
): Promise<"resolved" | "failed" | "stale" | "parked" | undefined> {
  const { signal, summarizer, clock } = options;
  const found = repositories.database.read(() => dirtySpan(repositories, sessionId, strategy, options));
  if (found === undefined || found === "parked") return found;
  const { split, content, previous, sources, summaryTokensMax, readingDepth, attempts } = found;
  const reading = {
    previous: previous === undefined ? [] : [{ title: previous.title, text: previous.text }],
    sources,
    sourceTokenCount: content.tokenCount,
    tokensMax: summaryTokensMax,
  };
  const outcome = await summarize(reading, options);
  signal.throwIfAborted();
  const isRecorded = recordSpan(repositories, "resolveDirty", {
    ...spanRow(sessionId, strategy, split, content),
    readingDepth,
    summarizerId: summarizer.id,
    promptVersion: summarizer.promptVersion,
    attempts,
    createdAtMs: clock(),
    ...outcome,
  });
  if (!isRecorded) return "stale";
  return outcome.status === "done" ? "resolved" : outcome.status;
}

function dirtySpan(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SplitOptions,
): DirtySpan | "parked" | undefined {
  const { spans, messages } = repositories;
  const split = dueSplit(repositories, sessionId, strategy) ?? fullSplit(repositories, sessionId, strategy, options);
  if (split === undefined) return undefined;
  const done = spans.newest(sessionId, strategy, "done");
  const parked = spans.newest(sessionId, strategy, "parked");
  if (parked !== undefined && parked.seqLast >= split.seqLast) return "parked";
  const content = spans.contentOf(sessionId, split.seqFirst, split.seqLast);
  const { readInFull, readingDepth } = readingOf(done === undefined ? [] : [done], content.tokenCount);
  const previous = readInFull ? undefined : done;
  const free = options.tokensMax - messages.pinnedTokensOf(sessionId);
  const from = previous === undefined ? split.seqFirst : previous.seqLast + 1;
  return {
    split,
    content,
    previous,
    sources: messages.range(sessionId, from, split.seqLast).filter(({ pinned }) => !pinned),
    summaryTokensMax: Math.max(SUMMARY_TOKENS_MIN, Math.floor(SUMMARY_SHARE * free)),
    readingDepth,
    attempts: spans.failedAttempts(sessionId, strategy) + 1,
  };
}
