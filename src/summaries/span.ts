import { formatHandle } from "../core/handle.ts";
import { type SpanStrategy, spanRuleOf } from "../core/options.ts";
import { windowSteps } from "../forest/window.ts";
import { type DoneSummary, recordSummaries } from "../store/index.ts";
import { type Asker, attemptsAfter, postponementOf } from "./next-try.ts";
import type { DueSummaries, SummaryContext } from "./resolve-run.ts";
import { type Filling, isFull, type NoSplit, type Split, SUMMARY_SHARE, splitContext } from "./split.ts";

/** A summary may always take this many tokens, enough for one statement. */
const SUMMARY_TOKENS_MIN = 20;

export interface SpanContext extends SummaryContext {
  strategy: SpanStrategy;
}

/** `compacted` is true if the frontier moved or a summary is now due. Otherwise `reason` says why not. */
export type CompactResult =
  | { compacted: true }
  | { compacted: false; reason: NoSplit | "already_due" | "never_compacted" };

/** The one summary of a `flat` or `sandwich` context. It is due if the context is full enough, or if `compact` has marked it. */
export function spanSummaries(context: SpanContext): DueSummaries {
  const { repositories, sessionId } = context;
  const { database, summaries, messages } = repositories;
  const find = (asker: Asker | undefined) => {
    const done = lastSpan(context, asker === undefined);
    const split = dueSplit(context, done) ?? fullSplit(context, done);
    if (split === undefined) return undefined;
    const work = { ...workOf(context, split), readingDepth: done === undefined ? 0 : done.readingDepth + 1 };
    const tried = asker && summaries.newestTry({ ...work, ...asker });
    const wait = asker && postponementOf(tried, work.logPosition, asker);
    return { keys: [0], handles: [handleOf(work)], wait, work, done, attempts: attemptsAfter(tried) };
  };
  return {
    list: (asker) => database.read(() => [find(asker)].filter((found) => found !== undefined)),
    task: (_, asker) =>
      database.read(() => {
        const found = find(asker);
        if (found === undefined || found.wait !== undefined) return undefined;
        const { work, attempts, done } = found;
        const from = done === undefined ? work.seqFirst : done.seqLast + 1;
        const sources = messages.range(sessionId, from, work.seqLast).filter(({ pinned }) => !pinned);
        const free = context.tokensMax - messages.pinnedTokensOf(sessionId);
        const tokensMax = Math.max(SUMMARY_TOKENS_MIN, Math.floor(SUMMARY_SHARE * free));
        return {
          members: [{ handle: handleOf(work), title: "", work, sources }],
          previous: done === undefined ? [] : [done],
          tokensMax,
          attempts,
        };
      }),
  };
}

export function compactSpan(context: SpanContext, createdAtMs: number): CompactResult {
  const { repositories, summarizer } = context;
  const found = repositories.database.read(() => {
    const split = askedSplit(context);
    return typeof split === "string" ? split : workOf(context, split);
  });
  if (typeof found === "string") return { compacted: false, reason: found };
  const { id: summarizerId, promptVersion } = summarizer;
  const due = {
    ...found,
    status: "due" as const,
    readingDepth: 0,
    summarizerId,
    promptVersion,
    attempts: 0,
    createdAtMs,
  };
  // Another process may have forgotten or summarized some of the messages. Then a second call marks the others.
  return recordSummaries(repositories, "compact", [due])[0]
    ? { compacted: true }
    : { compacted: false, reason: "nothing_to_compress" };
}

/** Returns the span that `compact` would mark as due, or why there is none. Call it inside a transaction. */
export function askedSplit(context: SpanContext): Split | NoSplit | "already_due" {
  const { repositories, sessionId, strategy, settings, tokensMax, summarizer } = context;
  const done = lastSpan(context, false);
  const split = splitContext(fillingOf(context, done), spanRuleOf(strategy, settings), tokensMax);
  if (typeof split === "string") return split;
  if (split.seqLast === dueSplit(context, done)?.seqLast) return "already_due";
  const parked = repositories.summaries.givenUp(sessionId, strategy, summarizer.id, summarizer.promptVersion);
  return split.seqLast <= (parked?.seqLast ?? -1) ? "nothing_to_compress" : split;
}

function fullSplit(context: SpanContext, done: DoneSummary | undefined): Split | undefined {
  const { strategy, settings, tokensMax } = context;
  const filling = fillingOf(context, done);
  const rule = spanRuleOf(strategy, settings);
  if (!isFull(filling, rule, tokensMax)) return undefined;
  const split = splitContext(filling, rule, tokensMax);
  return typeof split === "string" ? undefined : split;
}

/** Returns the span that `compact` has marked, unless it was summarized or given up since. */
function dueSplit(
  { repositories: { summaries }, sessionId, strategy, summarizer }: SpanContext,
  done: DoneSummary | undefined,
): Split | undefined {
  const due = summaries.newestDue(sessionId, strategy);
  const parked = summaries.givenUp(sessionId, strategy, summarizer.id, summarizer.promptVersion);
  if (due === undefined || due.seqLast <= Math.max(done?.seqLast ?? -1, parked?.seqLast ?? -1)) return undefined;
  return { seqFirst: done?.seqFirst ?? due.seqFirst, seqLast: due.seqLast };
}

function lastSpan(
  { repositories: { summaries }, sessionId, strategy }: SpanContext,
  withStandIns: boolean,
): DoneSummary | undefined {
  return withStandIns ? summaries.shownSpan(sessionId, strategy) : summaries.newestSpan(sessionId, strategy);
}

function fillingOf(
  { repositories: { spans, messages }, sessionId, openStepId }: SpanContext,
  done: DoneSummary | undefined,
): Filling {
  return {
    pinnedTokens: messages.pinnedTokensOf(sessionId),
    summary: done && { ...done, topTokens: spans.boundsOf(sessionId, 0, done.seqFirst - 1)?.tokenCount ?? 0 },
    steps: windowSteps(messages.windowFrom(sessionId, done === undefined ? 0 : done.seqLast + 1), openStepId),
  };
}

function workOf({ repositories, sessionId, strategy }: SpanContext, { seqFirst, seqLast }: Split) {
  const content = repositories.spans.contentOf(sessionId, seqFirst, seqLast);
  const { firstId: rootId, lastId: logPosition, tokenCount: sourceTokenCount, messageCount, sourceDigest } = content;
  const extent = { seqFirst, seqLast, messageCount, sourceTokenCount, sourceDigest };
  return { sessionId, level: strategy, rootId, logPosition, ...extent };
}

function handleOf({ rootId, logPosition }: { rootId: number; logPosition: number }): string {
  return formatHandle("span", rootId, logPosition);
}
