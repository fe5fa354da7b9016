import { createHash } from "node:crypto";
import { and, between, desc, eq, lte, ne, notInArray, or, type SQL, sql } from "drizzle-orm";
import { ClaimableRows, type Done, type Try } from "./claims.ts";
import type { CostRepository } from "./costs.ts";
import type { StoreDatabase } from "./open.ts";
import { messages, spanSummaries } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const SPAN = columns(spanSummaries);

type SpanRow = RowOf<typeof SPAN>;
export type NewSpan = typeof spanSummaries.$inferInsert;
export type SpanStrategy = SpanRow["strategy"];

export type DoneSpan = Done<typeof spanSummaries>;

/** The messages of a span, without pinned ones. */
export interface SpanContent {
  firstId: number;
  lastId: number;
  messageCount: number;
  tokenCount: number;
  sourceDigest: string;
}

/**
 * How many finished rows each strategy keeps. Contexts show the newest. If one of its messages is forgotten, an older
 * row that does not cover the message is shown. Handles name messages, so `expand` needs no row.
 */
const DONE_KEPT = 3;

export class SpanRepository extends ClaimableRows<typeof spanSummaries> {
  // Renders run these.
  /** The row that the context shows: the newest finished one. It may be a stand-in. */
  readonly shown = this.statement<[sessionId: string, strategy: string], DoneSpan>`
    SELECT ${SPAN} FROM span_summaries WHERE session_id = ? AND strategy = ? AND status = 'done'
    ORDER BY id DESC LIMIT 1`.get;
  readonly #byId = this.statement<[id: number], SpanRow>`SELECT ${SPAN} FROM span_summaries WHERE id = ?`.get;
  /** `contentOf` without the digest, which takes fewer pages. Undefined if all messages are pinned. */
  readonly boundsOf = this.statement<
    [id: string, seqFirst: number, seqLast: number],
    Omit<SpanContent, "sourceDigest">
  >`
    SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS messageCount, sum(token_count) AS tokenCount
    FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 GROUP BY session_id`.get;
  // A list as JSON.
  readonly #covering = this.statement<{ sessionId: string; ids: string }, Pick<SpanRow, "id" | "status">>`
    SELECT id, status FROM span_summaries WHERE session_id = @sessionId AND (status NOT IN ('done', 'claimed') OR EXISTS (
      SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
        AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))`;
  // A table of SQLite's own. Ids rise and are never reused, so a missing id was forgotten if a later id exists.
  /**
   * The ids from one message to another of a session, in order and without pinned ones. One of the two may have been
   * forgotten. Empty if they are of different sessions.
   */
  readonly idsBetween = this.statement<{ firstId: number; lastId: number }, number>`
    SELECT m.id FROM messages m
    WHERE m.id BETWEEN @firstId AND @lastId AND m.pinned = 0
      AND @lastId <= (SELECT seq FROM sqlite_sequence WHERE name = 'messages')
      AND m.session_id = (
        SELECT min(session_id) FROM messages WHERE id IN (@firstId, @lastId) HAVING count(DISTINCT session_id) = 1)
    ORDER BY m.seq`.pluck().all;

  constructor(database: StoreDatabase, costs: CostRepository) {
    super(database, spanSummaries, costs);
  }

  /**
   * Returns the ids of rows that a new finished row replaces: attempts, due rows, stand-ins, and all but the newest
   * finished rows. A stand-in replaces only other stand-ins.
   */
  superseded(newId: number, { sessionId, strategy, seqLast, standsIn }: NewSpan): number[] {
    const t = spanSummaries;
    const scope = ofStrategy(sessionId, strategy);
    const isDone = eq(t.status, "done");
    const isStandIn = and(eq(t.standsIn, true), ne(t.id, newId));
    const kept = this.orm
      .select({ id: t.id })
      .from(t)
      .where(and(scope, isDone, eq(t.standsIn, false)));
    const isOlder = and(isDone, notInArray(t.id, kept.orderBy(desc(t.id)).limit(DONE_KEPT)));
    const isCovered = and(ne(t.status, "done"), lte(t.seqLast, seqLast));
    const isSuperseded = and(scope, standsIn ? isStandIn : or(isCovered, isStandIn, isOlder));
    const rows = this.orm.select({ id: t.id }).from(t).where(isSuperseded);
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

  /** The newest row with a status, without stand-ins. */
  newest(sessionId: string, strategy: SpanStrategy, status: "done"): DoneSpan | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined {
    const hasStatus = and(eq(spanSummaries.status, status), eq(spanSummaries.standsIn, false));
    return this.#newestWhere(and(ofStrategy(sessionId, strategy), hasStatus));
  }

  #newestWhere(condition: SQL | undefined): SpanRow | undefined {
    const newest = this.orm.select({ id: spanSummaries.id }).from(spanSummaries).where(condition);
    const found = newest.orderBy(desc(spanSummaries.id)).limit(1).get();
    return found === undefined ? undefined : this.#byId(found.id); // a whole row, so that its checksum is compared
  }

  newestTry(sessionId: string, strategy: SpanStrategy, summarizerId: string, promptVersion: number): Try | undefined {
    return this.newestTryWhere(ofStrategy(sessionId, strategy), spanSummaries.seqLast, summarizerId, promptVersion);
  }

  /** Expired claims are included. */
  claims(sessionId: string, strategy: SpanStrategy) {
    return this.claimsWhere(ofStrategy(sessionId, strategy));
  }

  /** Returns the rows that cover any of these messages, and all attempts, because their errors may quote messages. */
  covering(sessionId: string, ids: readonly number[]): Pick<SpanRow, "id" | "status">[] {
    return this.#covering.all({ sessionId, ids: JSON.stringify(ids) });
  }

  /** Returns the content between two seqs, both included. The ids are 0 if all messages are pinned. */
  contentOf(sessionId: string, seqFirst: number, seqLast: number): SpanContent {
    const { id, tokenCount, digest, seq, pinned } = messages;
    const isInside = and(eq(messages.sessionId, sessionId), between(seq, seqFirst, seqLast), eq(pinned, false));
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

  /** Returns the ids of finished rows whose messages are no longer what was summarized. */
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
