import type { SessionSettings } from "../core/options.ts";
import { windowSteps } from "../forest/window.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SpanContent, SpanStrategy } from "../store/spans.ts";
import { recordSpan } from "../store/write-summaries.ts";
import type { Layer } from "./dirty.ts";
import { type Filling, isFull, type NoSplit, type Split, splitContext, splitRuleOf } from "./split.ts";

/** The context to split. */
export interface SplitOptions {
  settings: SessionSettings;
  /** The budget of the context. */
  tokensMax: number;
  /** The step that may still get results. */
  openStepId: number | undefined;
  /** The summarizer whose earlier tries count. */
  summarizer: Summarizer;
}

/** True if `compact` moved the frontier or marked a summary as due; otherwise the reason why there was nothing to do. */
export type CompactResult =
  | { compacted: true }
  | { compacted: false; reason: NoSplit | "already_due" | "never_compacted" };

/**
 * Returns the span to summarize because the context is full; undefined if it is not. Call it inside a transaction.
 *
 * @param layer  With `shown`, a stand-in counts as a summary and makes room.
 */
export function fullSplit(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SplitOptions,
  layer: Layer = "made",
): Split | undefined {
  const filling = fillingOf(repositories, sessionId, strategy, options, layer);
  const rule = splitRuleOf(strategy, options.settings);
  if (!isFull(filling, rule, options.tokensMax)) return undefined;
  const split = splitContext(filling, rule, options.tokensMax);
  return typeof split === "string" ? undefined : split;
}

/** Returns the span that `compact` marks as due, however full the context is, or why there is none. Call it inside a transaction. */
export function askedSplit(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SplitOptions,
): Split | NoSplit | "already_due" {
  const filling = fillingOf(repositories, sessionId, strategy, options);
  const split = splitContext(filling, splitRuleOf(strategy, options.settings), options.tokensMax);
  if (typeof split === "string") return split;
  if (split.seqLast === dueSplit(repositories, sessionId, strategy, options)?.seqLast) return "already_due";
  const parked = repositories.spans.givenUp(sessionId, strategy, options.summarizer);
  return split.seqLast <= (parked?.seqLast ?? -1) ? "nothing_to_compress" : split;
}

function fillingOf(
  { spans, messages }: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  { openStepId }: SplitOptions,
  layer: Layer = "made",
): Filling {
  const done = layer === "made" ? spans.newest(sessionId, strategy, "done") : spans.shown(sessionId, strategy);
  return {
    pinnedTokens: messages.pinnedTokensOf(sessionId),
    summary: done && { ...done, topTokens: spans.boundsOf(sessionId, 0, done.seqFirst - 1)?.tokenCount ?? 0 },
    steps: windowSteps(messages.windowFrom(sessionId, done === undefined ? 0 : done.seqLast + 1), openStepId),
  };
}

/** Marks the summary of the span that `askedSplit` returns as due. The next `resolveDirty` makes it. */
export function compactSpan(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SplitOptions & { createdAtMs: number },
): CompactResult {
  const { database, spans } = repositories;
  const found = database.read(() => {
    const split = askedSplit(repositories, sessionId, strategy, options);
    if (typeof split === "string") return split;
    return { split, content: spans.contentOf(sessionId, split.seqFirst, split.seqLast) };
  });
  if (typeof found === "string") return { compacted: false, reason: found };
  const row = spanRow(sessionId, strategy, found.split, found.content);
  const due = { ...row, status: "due" as const, readingDepth: 0, attempts: 0, createdAtMs: options.createdAtMs };
  // Another process may have forgotten or summarized some of the messages meanwhile. The next call sees the others.
  return recordSpan(repositories, "compact", due)
    ? { compacted: true }
    : { compacted: false, reason: "nothing_to_compress" };
}

/** Returns the span that `compact` marked and nobody has summarized. A span that its summarizer gave up is no longer due. */
export function dueSplit(
  { spans }: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  { summarizer }: SplitOptions,
  layer: Layer = "made",
): Split | undefined {
  const due = spans.newest(sessionId, strategy, "due");
  const done = layer === "made" ? spans.newest(sessionId, strategy, "done") : spans.shown(sessionId, strategy);
  const parked = spans.givenUp(sessionId, strategy, summarizer);
  if (due === undefined || due.seqLast <= Math.max(done?.seqLast ?? -1, parked?.seqLast ?? -1)) return undefined;
  return { seqFirst: done?.seqFirst ?? due.seqFirst, seqLast: due.seqLast };
}

/** Returns the columns that every row of a span has. */
export function spanRow(
  sessionId: string,
  strategy: SpanStrategy,
  { seqFirst, seqLast }: Split,
  { firstId, lastId, messageCount, tokenCount: sourceTokenCount, sourceDigest }: SpanContent,
) {
  return { sessionId, strategy, firstId, lastId, seqFirst, seqLast, messageCount, sourceTokenCount, sourceDigest };
}
