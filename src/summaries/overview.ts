import { formatHandle } from "../core/handle.ts";
import { countWithin } from "../forest/window.ts";
import type { DoneSummary } from "../store/index.ts";
import { type Asker, attemptsAfter, postponementOf } from "./next-try.ts";
import type { DueSummaries, SummaryContext } from "./resolve-run.ts";

/** An overview is due when there are so many tokens of statements that it has not read. */
const NEW_TOKENS_MIN = 600;
/** The most tokens of statements that one call reads. A session that was summarized without overviews has more. */
const NEW_TOKENS_MAX = 6_000;
const OVERVIEW_TOKENS_MAX = 400;

/**
 * In work with tools, an overview is due when the messages since the last one have so many tokens, and this share of those that it was about.
 * So a session of 200,000 tokens has six, and a short one none. It is made of so many tokens of the story, and may be longer than in talk:
 * of what whoever goes on must know, it holds more than statements of each cluster.
 */
const WORK = { newTokensMin: 16_000, newShareMin: 0.5, storyTokensMax: 6_000, overviewTokensMax: 900 };

/**
 * The overview of a session, made of the last overview and, in talk, the statements of summaries whose messages come after it. A summary of
 * older messages that is made late stands in the list of statements only. In work with tools, it is made of the sentences that the story
 * tells. It is stored as a summary of a span, from the first message to the newest one that the statements are about or, in work, the last
 * one before the window.
 *
 * Until a context shows an overview, no other is made. Then the one that contexts show is kept.
 */
export function overviewSummaries({
  repositories,
  sessionId,
  summarizer,
  past: pastNow,
}: SummaryContext): DueSummaries {
  const { database, summaries, spans } = repositories;
  const find = (asker: Asker | undefined) => {
    if (asker === undefined || summarizer.citesSources !== true) return undefined; // without one, contexts have more statements
    const last = summaries.newestSpan(sessionId, "overview");
    if (last !== undefined && last.shownFrom === null) return undefined;
    const known = last?.sourceTokenCount ?? 0;
    const newTokensMin = Math.max(WORK.newTokensMin, WORK.newShareMin * known);
    const past = pastNow();
    const isMuchNew = past.tokenCountMax - known >= newTokensMin;
    const unread = unreadSummaries(summaries.standing({ sessionId }), last?.seqLast ?? -1);
    const isMuchStated = tokensOf(unread) >= NEW_TOKENS_MIN;
    // To tell work from talk, messages are read.
    if (!isMuchNew && !isMuchStated) return undefined;
    const isWork = past.isWork();
    if (isWork ? !isMuchNew : !isMuchStated) return undefined;
    const read = isWork ? [] : unread;
    const extent = { seqFirst: 0, seqLast: isWork ? past.seqEnd - 1 : unread.at(-1)!.seqLast };
    const content = spans.contentOf(sessionId, extent.seqFirst, extent.seqLast);
    const { firstId: rootId, lastId: logPosition, tokenCount: sourceTokenCount, messageCount, sourceDigest } = content;
    if (isWork && sourceTokenCount - known < newTokensMin) return undefined;
    const covered = { ...extent, messageCount, sourceTokenCount, sourceDigest };
    const readingDepth = 1 + (last?.readingDepth ?? 0);
    const work = { sessionId, level: "overview" as const, rootId, logPosition, ...covered, readingDepth };
    const tried = summaries.newestTry({ ...work, ...asker });
    return {
      keys: [0],
      handles: [formatHandle("span", rootId, logPosition)],
      wait: postponementOf(tried, logPosition, asker),
      work,
      previous: last === undefined ? read : [last, ...read],
      sources: () => (isWork ? past.told(WORK.storyTokensMax) : []),
      tokensMax: isWork ? WORK.overviewTokensMax : OVERVIEW_TOKENS_MAX,
      attempts: attemptsAfter(tried),
    };
  };
  return {
    list: (asker) => database.read(() => [find(asker)].filter((found) => found !== undefined)),
    task: (_, asker) =>
      database.read(() => {
        const found = find(asker);
        if (found === undefined || found.wait !== undefined) return undefined;
        const { work, handles, previous, sources, tokensMax, attempts } = found;
        const member = { handle: handles[0]!, title: "", work, sources: sources() };
        return { members: [member], previous, tokensMax, attempts };
      }),
  };
}

/** Returns the oldest summaries of clusters that end after a seq, as many as one call reads. */
function unreadSummaries(standing: readonly DoneSummary[], seqLast: number): DoneSummary[] {
  const unread = standing.filter((row) => row.seqLast > seqLast && row.text !== "");
  unread.sort((left, right) => left.seqLast - right.seqLast);
  return unread.slice(0, Math.max(1, countWithin(unread, NEW_TOKENS_MAX)));
}

function tokensOf(rows: readonly DoneSummary[]): number {
  return rows.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}
