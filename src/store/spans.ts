import { createHash } from "node:crypto";
import { and, between, desc, eq, lte, ne, notInArray, or, type SQL, sql } from "drizzle-orm";
import { type Claim, ClaimableRows, type Try } from "./claims.ts";
import type { StoreDatabase } from "./open.ts";
import { messages, spanSummaries } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const SPAN = columns(spanSummaries);

export type SpanRow = RowOf<typeof SPAN>;
export type NewSpan = typeof spanSummaries.$inferInsert;
export type SpanStrategy = SpanRow["strategy"];

/** A span with its summary: `status` done. */
export interface DoneSpan extends SpanRow {
  title: string;
  text: string;
  tokenCount: number;
}

/** The messages of a span, as a row of `span_summaries` describes them. Pinned messages do not count. */
export interface SpanContent {
  firstId: number;
  lastId: number;
  messageCount: number;
  tokenCount: number;
  sourceDigest: string;
}

type SpanBounds = Omit<SpanContent, "sourceDigest">;
type Covering = Pick<SpanRow, "id" | "status">;

/**
 * The number of finished rows that each strategy keeps. Contexts show the newest. If one of its messages is forgotten, an
 * older row that does not cover that message takes over. Handles name messages, so the handles of deleted rows still expand.
 */
const DONE_KEPT = 3;

const statements = ({ statement }: StoreDatabase) => ({
  // Renders run these.
  shown: statement<[sessionId: string, strategy: string], DoneSpan>`
    SELECT ${SPAN} FROM span_summaries WHERE session_id = ? AND strategy = ? AND status = 'done' ORDER BY id DESC LIMIT 1`,
  bounds: statement<[string, number, number], Omit<SpanBounds, "firstId"> & { firstId: number | null }>`
    SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS messageCount, sum(token_count) AS tokenCount
    FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0`,
  // A list as JSON.
  covering: statement<{ sessionId: string; ids: string }, Covering>`
    SELECT id, status FROM span_summaries WHERE session_id = @sessionId AND (status NOT IN ('done', 'claimed') OR EXISTS (
      SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
        AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))`,
  // A table of SQLite's own. Ids rise with seqs and are never reused. So a missing id was forgotten if a later id exists.
  idsBetween: statement<{ firstId: number; lastId: number }, number>`
    SELECT m.id FROM messages m
    WHERE m.id BETWEEN @firstId AND @lastId AND m.pinned = 0
      AND @lastId <= (SELECT seq FROM sqlite_sequence WHERE name = 'messages')
      AND m.session_id = (
        SELECT min(session_id) FROM messages WHERE id IN (@firstId, @lastId) HAVING count(DISTINCT session_id) = 1)
    ORDER BY m.seq`.pluck(),
});

/** Rows of `span_summaries`. */
export class SpanRepository extends ClaimableRows<typeof spanSummaries> {
  readonly #statements;

  constructor(database: StoreDatabase) {
    super(database, spanSummaries);
    this.#statements = statements(database);
  }

  /** The ids of the rows that a finished one supersedes: tries, due rows, stand-ins, and all but the newest finished ones. */
  superseded(sessionId: string, strategy: SpanStrategy, seqLast: number): number[] {
    const { id, status, standsIn } = spanSummaries;
    const scope = ofStrategy(sessionId, strategy);
    const isDone = eq(status, "done");
    const kept = this.orm
      .select({ id })
      .from(spanSummaries)
      .where(and(scope, isDone, eq(standsIn, false)));
    const isOlder = and(isDone, notInArray(id, kept.orderBy(desc(id)).limit(DONE_KEPT)));
    const isCovered = and(ne(status, "done"), lte(spanSummaries.seqLast, seqLast));
    return this.#idsWhere(and(scope, or(isCovered, eq(standsIn, true), isOlder)));
  }

  /** The ids of the rows that stand in for a summary. */
  standIns(sessionId: string, strategy: SpanStrategy): number[] {
    return this.#idsWhere(and(ofStrategy(sessionId, strategy), eq(spanSummaries.standsIn, true)));
  }

  #idsWhere(condition: SQL | undefined): number[] {
    const rows = this.orm.select({ id: spanSummaries.id }).from(spanSummaries).where(condition);
    return rows.all().map(({ id }) => id);
  }

  /** The newest span that a summarizer does not try again until it is longer. */
  givenUp(
    sessionId: string,
    strategy: SpanStrategy,
    { id: summarizerId, promptVersion }: { id: string; promptVersion: number },
  ): { seqLast: number } | undefined {
    const isGivenUp = sql`${spanSummaries.status} = 'parked' and ${spanSummaries.nextTryAtMs} is null
      and ${spanSummaries.summarizerId} = ${summarizerId} and ${spanSummaries.promptVersion} = ${promptVersion}`;
    return this.#newestWhere(and(ofStrategy(sessionId, strategy), isGivenUp));
  }

  /** The row that the context shows: the newest finished one, stand-in or not. */
  shown(sessionId: string, strategy: SpanStrategy): DoneSpan | undefined {
    return this.#statements.shown.get(sessionId, strategy);
  }

  /** The newest row with a status. Rows that stand in for a summary do not count. */
  newest(sessionId: string, strategy: SpanStrategy, status: "done"): DoneSpan | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined {
    const hasStatus = and(eq(spanSummaries.status, status), eq(spanSummaries.standsIn, false));
    return this.#newestWhere(and(ofStrategy(sessionId, strategy), hasStatus));
  }

  #newestWhere(condition: SQL | undefined): SpanRow | undefined {
    return this.orm.select().from(spanSummaries).where(condition).orderBy(desc(spanSummaries.id)).limit(1).get();
  }

  /** Every finished row of a session, oldest first. */
  done(sessionId: string): DoneSpan[] {
    const isDone = and(eq(spanSummaries.sessionId, sessionId), eq(spanSummaries.status, "done"));
    return this.orm.select().from(spanSummaries).where(isDone).orderBy(spanSummaries.id).all() as DoneSpan[];
  }

  /** The newest try of a summarizer since the last summary. */
  newestTry(sessionId: string, strategy: SpanStrategy, summarizerId: string, promptVersion: number): Try | undefined {
    return this.newestTryWhere(ofStrategy(sessionId, strategy), spanSummaries.seqLast, summarizerId, promptVersion);
  }

  /** The claim of a strategy if there is one, expired or not. */
  claims(sessionId: string, strategy: SpanStrategy): Claim<typeof spanSummaries>[] {
    return this.claimsWhere(ofStrategy(sessionId, strategy));
  }

  /** The finished and claimed rows that cover any of these messages, and all other rows: their errors may quote messages. */
  covering(sessionId: string, ids: readonly number[]): Covering[] {
    return this.#statements.covering.all({ sessionId, ids: JSON.stringify(ids) });
  }

  /** The content from one seq to another, both included. The ids are 0 if all messages there are pinned. */
  contentOf(sessionId: string, seqFirst: number, seqLast: number): SpanContent {
    const { id, tokenCount, digest, seq } = messages;
    const isInside = and(
      eq(messages.sessionId, sessionId),
      between(seq, seqFirst, seqLast),
      eq(messages.pinned, false),
    );
    const rows = this.orm.select({ id, tokenCount, digest }).from(messages).where(isInside).orderBy(seq).all();
    const sources = createHash("sha256");
    for (const row of rows) sources.update(row.digest);
    return {
      firstId: rows[0]?.id ?? 0,
      lastId: rows.at(-1)?.id ?? 0,
      messageCount: rows.length,
      tokenCount: rows.reduce((sum, row) => sum + row.tokenCount, 0),
      sourceDigest: sources.digest("hex"),
    };
  }

  /** The content without its digest, read from fewer pages; undefined if all messages there are pinned. */
  boundsOf(sessionId: string, seqFirst: number, seqLast: number): SpanBounds | undefined {
    const { firstId, ...bounds } = this.#statements.bounds.get(sessionId, seqFirst, seqLast)!;
    return firstId === null ? undefined : { firstId, ...bounds };
  }

  /**
   * The ids from one message to another of the same session, in order and without pinned ones; none if the two are of
   * different sessions. One of the two may have been forgotten.
   */
  idsBetween(firstId: number, lastId: number): number[] {
    return this.#statements.idsBetween.all({ firstId, lastId });
  }

  /** The ids of the finished rows whose messages differ from those that were summarized. */
  wrong(sessionId: string): number[] {
    const isWrong = (row: DoneSpan): boolean => {
      const content = this.contentOf(sessionId, row.seqFirst, row.seqLast);
      return (["firstId", "lastId", "messageCount", "sourceDigest"] as const).some((key) => content[key] !== row[key]);
    };
    return this.done(sessionId)
      .filter(isWrong)
      .map(({ id }) => id);
  }
}

function ofStrategy(sessionId: string, strategy: SpanStrategy): SQL | undefined {
  return and(eq(spanSummaries.sessionId, sessionId), eq(spanSummaries.strategy, strategy));
}
