import { formatHandle } from "../core/handle.ts";
import { windowSteps } from "../forest/window.ts";
import type { DoneSpan, SpanStrategy } from "../store/spans.ts";
import { claimSpan, recordSpan } from "../store/write-summaries.ts";
import { readingOf } from "./due.ts";
import { type Asker, attemptsAfter, postponementOf } from "./next-try.ts";
import type { DueSummaries, SummaryContext } from "./resolve-run.ts";
import { type Filling, isFull, type NoSplit, type Split, SUMMARY_SHARE, splitContext, splitRuleOf } from "./split.ts";

/** A summary may always take this many tokens, enough for one statement. */
const SUMMARY_TOKENS_MIN = 20;

export interface SpanContext extends SummaryContext {
  strategy: SpanStrategy;
}

/** `compacted` is true if the frontier moved or a summary is now due. Otherwise `reason` says why not. */
export type CompactResult =
  | { compacted: true }
  | { compacted: false; reason: NoSplit | "already_due" | "never_compacted" };

/** The one summary of a context. It is due if the context is full enough, or if `compact` has marked it. */
export function spanSummaries(context: SpanContext): DueSummaries {
  const { repositories, sessionId, strategy } = context;
  const { database, spans, messages } = repositories;
  const find = (asker: Asker | undefined) => {
    const done = lastSpan(context, asker === undefined);
    const split = dueSplit(context, done) ?? fullSplit(context, done);
    if (split === undefined) return undefined;
    const row = rowOf(context, split);
    const tried = asker && spans.newestTry(sessionId, strategy, asker.summarizerId, asker.promptVersion);
    const wait = asker && postponementOf(tried, split.seqLast, asker);
    const handle = formatHandle("span", row.firstId, row.lastId);
    return { id: 0, handle, wait, row, done, attempts: attemptsAfter(tried) };
  };
  return {
    list: (asker) => database.read(() => [find(asker)].filter((found) => found !== undefined)),
    task: (_, asker) =>
      database.read(() => {
        const found = find(asker);
        if (found === undefined || found.wait !== undefined) return undefined;
        const { handle, attempts, done } = found;
        const { sourceTokenCount, seqFirst, seqLast } = found.row;
        const { readInFull, readingDepth } = readingOf(done === undefined ? [] : [done], sourceTokenCount);
        const previous = readInFull || done === undefined ? [] : [done];
        const from = previous[0] === undefined ? seqFirst : previous[0].seqLast + 1;
        const free = context.tokensMax - messages.pinnedTokensOf(sessionId);
        const row = { ...found.row, readingDepth };
        return {
          handle,
          reading: {
            previous,
            sources: messages.range(sessionId, from, seqLast).filter(({ pinned }) => !pinned),
            sourceTokenCount,
            tokensMax: Math.max(SUMMARY_TOKENS_MIN, Math.floor(SUMMARY_SHARE * free)),
          },
          attempts,
          claim: (making, lease) => claimSpan(repositories, { ...row, ...making }, lease),
          record: (made, claim) => recordSpan(repositories, "resolveDirty", { ...row, ...made }, claim),
          hasGrown: () => false,
        };
      }),
  };
}

export function compactSpan(context: SpanContext, createdAtMs: number): CompactResult {
  const { repositories } = context;
  const found = repositories.database.read(() => {
    const split = askedSplit(context);
    return typeof split === "string" ? split : rowOf(context, split);
  });
  if (typeof found === "string") return { compacted: false, reason: found };
  const due = { ...found, status: "due" as const, readingDepth: 0, attempts: 0, createdAtMs };
  // Another process may have forgotten or summarized some of the messages. Then a second call marks the others.
  return recordSpan(repositories, "compact", due)
    ? { compacted: true }
    : { compacted: false, reason: "nothing_to_compress" };
}

/** Returns the span that `compact` would mark as due, or why there is none. Call it inside a transaction. */
export function askedSplit(context: SpanContext): Split | NoSplit | "already_due" {
  const { repositories, sessionId, strategy, settings, tokensMax, summarizer } = context;
  const done = lastSpan(context, false);
  const split = splitContext(fillingOf(context, done), splitRuleOf(strategy, settings), tokensMax);
  if (typeof split === "string") return split;
  if (split.seqLast === dueSplit(context, done)?.seqLast) return "already_due";
  const parked = repositories.spans.givenUp(sessionId, strategy, summarizer);
  return split.seqLast <= (parked?.seqLast ?? -1) ? "nothing_to_compress" : split;
}

function fullSplit(context: SpanContext, done: DoneSpan | undefined): Split | undefined {
  const { strategy, settings, tokensMax } = context;
  const filling = fillingOf(context, done);
  const rule = splitRuleOf(strategy, settings);
  if (!isFull(filling, rule, tokensMax)) return undefined;
  const split = splitContext(filling, rule, tokensMax);
  return typeof split === "string" ? undefined : split;
}

/** Returns the span that `compact` has marked, unless it was summarized or the summarizer gave it up. */
function dueSplit(
  { repositories: { spans }, sessionId, strategy, summarizer }: SpanContext,
  done: DoneSpan | undefined,
): Split | undefined {
  const due = spans.newest(sessionId, strategy, "due");
  const parked = spans.givenUp(sessionId, strategy, summarizer);
  if (due === undefined || due.seqLast <= Math.max(done?.seqLast ?? -1, parked?.seqLast ?? -1)) return undefined;
  return { seqFirst: done?.seqFirst ?? due.seqFirst, seqLast: due.seqLast };
}

function lastSpan(
  { repositories: { spans }, sessionId, strategy }: SpanContext,
  withStandIns: boolean,
): DoneSpan | undefined {
  return withStandIns ? spans.shown(sessionId, strategy) : spans.newest(sessionId, strategy, "done");
}

function fillingOf(
  { repositories: { spans, messages }, sessionId, openStepId }: SpanContext,
  done: DoneSpan | undefined,
): Filling {
  return {
    pinnedTokens: messages.pinnedTokensOf(sessionId),
    summary: done && { ...done, topTokens: spans.boundsOf(sessionId, 0, done.seqFirst - 1)?.tokenCount ?? 0 },
    steps: windowSteps(messages.windowFrom(sessionId, done === undefined ? 0 : done.seqLast + 1), openStepId),
  };
}

function rowOf({ repositories, sessionId, strategy }: SpanContext, { seqFirst, seqLast }: Split) {
  const { tokenCount: sourceTokenCount, ...content } = repositories.spans.contentOf(sessionId, seqFirst, seqLast);
  return { sessionId, strategy, seqFirst, seqLast, sourceTokenCount, ...content };
}
