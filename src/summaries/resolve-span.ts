import { formatHandle } from "../core/handle.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSpan, SpanContent, SpanStrategy } from "../store/spans.ts";
import { claimSpan, recordSpan } from "../store/write-summaries.ts";
import type { Layer } from "./dirty.ts";
import { attemptsAfter, postponementOf } from "./next-try.ts";
import { readingOf } from "./reading.ts";
import type { ResolveRun } from "./resolve-run.ts";
import { dueSplit, fullSplit, type SplitOptions, spanRow } from "./span.ts";
import { type Split, SUMMARY_SHARE } from "./split.ts";
import { standInFor } from "./stand-in.ts";
import type { Reading } from "./summarize.ts";

/** A summary may always take this many tokens, which is one statement. */
const SUMMARY_TOKENS_MIN = 20;

/** A span whose summary is due, and the sources of that summary. */
interface DirtySpan {
  split: Split;
  content: SpanContent;
  reading: Reading;
  readingDepth: number;
}

/**
 * Makes the summary of a `flat` or `sandwich` context, if the context is full enough or `compact` has marked it as due. The
 * summary is made from the last one and the messages since, or from all messages that it covers; see `readingOf`.
 *
 * @throws the signal's reason if it is aborted.
 */
export async function resolveSpan(
  repositories: Repositories,
  sessionId: string,
  run: ResolveRun,
  strategy: SpanStrategy,
  options: SplitOptions,
): Promise<void> {
  const { database, spans } = repositories;
  const asker = run.asker();
  const found = database.read(() => {
    const dirty = dirtySpan(repositories, sessionId, strategy, options, "made");
    const tried = spans.newestTry(sessionId, strategy, asker.summarizerId, asker.promptVersion);
    return dirty && { dirty, tried, wait: postponementOf(tried, dirty.split.seqLast, asker) };
  });
  if (found === undefined) return;
  const { split, content, reading, readingDepth } = found.dirty;
  const handle = formatHandle("span", content.firstId, content.lastId);
  const row = { ...spanRow(sessionId, strategy, split, content), readingDepth };
  let isMissing = false;
  if (found.wait !== undefined) {
    run.wait(handle, found.wait);
    isMissing = !found.wait.isInflated;
  } else {
    isMissing = !(await run.work({
      handle,
      reading,
      attempts: attemptsAfter(found.tried),
      claim: (making, lease) => claimSpan(repositories, { ...row, ...making }, lease),
      record: (made, claim) => recordSpan(repositories, "resolveDirty", { ...row, ...made }, claim),
      hasGrown: () => false, // a span does not grow
    }));
  }
  if (isMissing) await standInForSpan(repositories, sessionId, run, strategy, options);
}

/** Makes an extractive summary if the context is too full without one. */
async function standInForSpan(
  repositories: Repositories,
  sessionId: string,
  run: ResolveRun,
  strategy: SpanStrategy,
  options: SplitOptions,
): Promise<void> {
  const found = repositories.database.read(() => dirtySpan(repositories, sessionId, strategy, options, "shown"));
  if (found === undefined) return;
  const { split, content, reading, readingDepth } = found;
  const row = { ...spanRow(sessionId, strategy, split, content), readingDepth };
  await standInFor(run, formatHandle("span", content.firstId, content.lastId), reading, (made) =>
    recordSpan(repositories, "resolveDirty", { ...row, ...made }),
  );
}

function dirtySpan(
  repositories: Repositories,
  sessionId: string,
  strategy: SpanStrategy,
  options: SplitOptions,
  layer: Layer,
): DirtySpan | undefined {
  const { spans, messages } = repositories;
  const split =
    dueSplit(repositories, sessionId, strategy, options, layer) ??
    fullSplit(repositories, sessionId, strategy, options, layer);
  if (split === undefined) return undefined;
  const done: DoneSpan | undefined =
    layer === "made" ? spans.newest(sessionId, strategy, "done") : spans.shown(sessionId, strategy);
  const content = spans.contentOf(sessionId, split.seqFirst, split.seqLast);
  const parts = done === undefined ? [] : [done];
  const { readInFull, readingDepth } = readingOf(parts, content.tokenCount);
  const previous = readInFull ? undefined : done;
  const free = options.tokensMax - messages.pinnedTokensOf(sessionId);
  const from = previous === undefined ? split.seqFirst : previous.seqLast + 1;
  const reading = {
    previous: previous === undefined ? [] : [{ title: previous.title, text: previous.text }],
    sources: messages.range(sessionId, from, split.seqLast).filter(({ pinned }) => !pinned),
    sourceTokenCount: content.tokenCount,
    tokensMax: Math.max(SUMMARY_TOKENS_MIN, Math.floor(SUMMARY_SHARE * free)),
  };
  return { split, content, reading, readingDepth };
}
