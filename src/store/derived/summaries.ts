import { and, desc, eq, inArray, isNull, lte, max, ne, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { SpanStrategy } from "../../core/options.ts";
import { GENERATION_NOW } from "../facts/generations.ts";
import { holdersOf, isOnPathOf } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import { summaries } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import type { CostRepository } from "./costs.ts";

const SUMMARY = columns(summaries);

export type SummaryRow = RowOf<typeof SUMMARY>;
/** The part of a row that changes, as the driver reads it, with all other values. */
type RawSummary = Record<"id" | "rootId" | "logPosition", number> &
  Record<"shownFrom" | "shownUntil" | "checksum", number | null>;
export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil">;
export type DoneSummary = SummaryRow & { title: string; text: string; tokenCount: number };

/** What covers a span: the summary of a strategy, or the overview of a forest. */
export type SpanLevel = SpanStrategy | "overview";

/** What a summary is of: a root, or the span of a strategy in a session. */
export type Summarized = Pick<SummaryRow, "sessionId" | "level" | "rootId">;

/** A failed or parked attempt to make a summary. */
export type Try = Pick<
  SummaryRow,
  "logPosition" | "attempts" | "claimant" | "createdAtMs" | "errorCode" | "nextTryAtMs"
> & { status: "failed" | "parked" };

/**
 * How many finished summaries of a span are kept of each level. Contexts show the newest. If one of its messages is forgotten, an
 * older row that does not cover the message is shown. Handles name messages, so `expand` needs no row.
 */
const SPANS_KEPT = 3;

/** What a summary covers. */
const COVERING = columns(
  summaries,
  "id",
  "sessionId",
  "level",
  "rootId",
  "logPosition",
  "sourceTokenCount",
  "shownFrom",
);

/** A context has room for the statements of fewer clusters. */
const SHOWN_ROOTS_MAX = 200;

const IS_OF_FOREST = "level IN ('cluster', 'theme')";
/** Summaries of older generations are about trees that no longer exist. */
const IS_STANDING = `${IS_OF_FOREST} AND status = 'done' AND shown_until IS NULL
  AND log_position > (SELECT max(log_position) FROM generations)`;

/** SQL: the row is of the session `@sessionId`, or was shown in a session that it shares when it forked. */
const ofPath = (isOwn: string): string => `(session_id = @sessionId AND ${isOwn} OR EXISTS (
  SELECT 1 FROM shared_pasts p WHERE p.session_id = @sessionId AND p.holder_id = summaries.session_id
    AND ${IS_OF_FOREST} AND status = 'done' AND summaries.log_position > (SELECT max(log_position) FROM generations)
    AND summaries.log_position <= p.log_position AND shown_from <= p.log_position
    AND (shown_until IS NULL OR shown_until > p.log_position)))`;
/** A move of the frontier lets contexts show it. */
const AWAITS_MOVE = `(${IS_STANDING} OR level = 'overview' AND status = 'done' AND shown_until IS NULL)`;
const IS_STANDING_OF_PATH = `session_id IN ${holdersOf("@sessionId")} AND ${ofPath(IS_STANDING)}`;

export class SummaryRepository extends Repository {
  // Moves of the frontier and renders run these.
  readonly #covering = this.statement<{ sessionId: string }, RowOf<typeof COVERING>>`
    SELECT ${COVERING} FROM summaries WHERE ${IS_STANDING_OF_PATH} ORDER BY id`;
  readonly #coveringRoots = this.statement<{ sessionId: string; roots: string }, RowOf<typeof COVERING>>`
    WITH RECURSIVE up(root) AS (
      SELECT value FROM json_each(@roots)
      UNION
      SELECT u.root FROM up JOIN unions u ON u.node = up.root AND u.kind = 'unite' AND u.level <> 'subject'
        AND u.generation = ${GENERATION_NOW} AND ${isOnPathOf("@sessionId", "u")}
    )
    SELECT ${COVERING} FROM summaries
    WHERE root_id IN (SELECT root FROM up) AND ${IS_STANDING_OF_PATH} ORDER BY id`;
  readonly #standing = this.statement<{ sessionId: string }, DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE ${IS_STANDING_OF_PATH} ORDER BY id`;
  readonly #shown = this.statement<{ sessionId: string }, DoneSummary>`
    SELECT ${SUMMARY} FROM summaries
    WHERE ${IS_STANDING_OF_PATH} AND shown_from IS NOT NULL AND (level = 'theme' OR root_id IN (
      SELECT root_id FROM summaries WHERE ${IS_STANDING_OF_PATH}
      GROUP BY root_id ORDER BY max(id) DESC LIMIT ${SHOWN_ROOTS_MAX}))
    ORDER BY id`;
  readonly #waiting = this.statement<[sessionId: string], number>`
    SELECT id FROM summaries WHERE session_id = ? AND ${AWAITS_MOVE} AND shown_from IS NULL`.pluck().all;
  /** The row as the driver reads it. */
  readonly #raw = this.statement<[id: number], RawSummary>`
    SELECT ${String(SUMMARY)} FROM summaries WHERE id = ?`.get;
  readonly #write = this.statement<[RawSummary]>`
    UPDATE summaries SET root_id = @rootId, log_position = @logPosition, shown_from = @shownFrom,
      shown_until = @shownUntil, checksum = @checksum WHERE id = @id`.run;
  readonly #shownSpan = this.statement<[sessionId: string, strategy: SpanStrategy], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND level = ? AND status = 'done' AND shown_until IS NULL
    ORDER BY id DESC LIMIT 1`;
  readonly #shownOverview = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND level = 'overview' AND status = 'done' AND shown_until IS NULL
      AND shown_from IS NOT NULL ORDER BY id DESC LIMIT 1`;
  // Rewinds run these.
  /** The summaries of clusters and themes in the generation in use, and the attempts, that were made after a log position. */
  readonly afterPosition = this.statement<
    [sessionId: string, position: number],
    RowOf<typeof COVERING> & Pick<SummaryRow, "status">
  >`
    SELECT ${COVERING}, status FROM summaries
    WHERE session_id = ? AND ${IS_OF_FOREST} AND shown_until IS NULL AND log_position > ?
      AND log_position > (SELECT max(log_position) FROM generations) ORDER BY id`.all;
  readonly #shownAfter = this.statement<[sessionId: string, position: number], number>`
    SELECT id FROM summaries WHERE session_id = ? AND ${AWAITS_MOVE} AND shown_from > ?`.pluck().all;
  /** All rows in contexts that reach past a seq. */
  readonly reaching = this.statement<[sessionId: string, seq: number], Pick<SummaryRow, "id" | "level" | "status">>`
    SELECT id, level, status FROM summaries WHERE session_id = ? AND seq_last > ? AND shown_until IS NULL`.all;
  /** The finished summaries that rewinds took out of the contexts, oldest first. */
  readonly left = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND status = 'done' AND shown_until IS NOT NULL
      AND NOT (${IS_OF_FOREST} AND log_position <= (SELECT max(log_position) FROM generations)) ORDER BY id`.all;
  readonly #byId = this.statement<[id: number], SummaryRow>`SELECT ${SUMMARY} FROM summaries WHERE id = ?`.get;
  // A list as JSON.
  /** The attempts, because their errors may quote messages, the rows of spans with one of these messages, and all rows of the forest. */
  readonly #mayCover = this.statement<{ sessionId: string; ids: string }, SummaryRow>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = @sessionId
      AND (status NOT IN ('done', 'claimed') OR ${IS_OF_FOREST} OR EXISTS (
        SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
          AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))`;
  readonly #costs: CostRepository;
  readonly #seal = this.sealing(summaries);

  constructor(database: StoreDatabase, costs: CostRepository) {
    super(database);
    this.#costs = costs;
  }

  /** Returns what the summaries of clusters and themes cover, oldest first. */
  covering(of: { sessionId: string }): RowOf<typeof COVERING>[] {
    return this.#covering.all(of);
  }

  /** `covering` of some clusters only, with the themes that these have been in. */
  coveringRoots(of: { sessionId: string; roots: string }): RowOf<typeof COVERING>[] {
    return this.#coveringRoots.all(of);
  }

  /** The summaries of clusters and themes, oldest first. Contexts may not show all of them yet. */
  standing(of: { sessionId: string }): DoneSummary[] {
    return this.#standing.all(of);
  }

  /** The summaries of clusters and themes that contexts may show: those of the roots that were summarized last. */
  shown(of: { sessionId: string }): DoneSummary[] {
    return this.#shown.all(of);
  }

  /** The newest finished summary of a strategy, which contexts show. It may be a stand-in. */
  shownSpan(sessionId: string, strategy: SpanStrategy): DoneSummary | undefined {
    return this.#shownSpan.get(sessionId, strategy);
  }

  /** The newest overview that a move of the frontier has shown. */
  shownOverview(sessionId: string): DoneSummary | undefined {
    return this.#shownOverview.get(sessionId);
  }

  /** Returns true if summaries are finished that contexts do not show before the frontier moves. */
  hasWaiting(sessionId: string): boolean {
    return this.#waiting(sessionId).length > 0;
  }

  add(row: NewSummary): number {
    const id = Number(this.orm.insert(summaries).values(row).run().lastInsertRowid);
    this.#seal(id);
    return id;
  }

  /** Changes where summaries stand, and their checksums. A damaged row stays as it is. */
  #change(ids: readonly number[], values: (row: RawSummary) => Partial<RawSummary>): void {
    for (const id of ids) {
      const row = this.#raw(id);
      if (row === undefined || SUMMARY.damageOf(row) !== undefined) continue;
      SUMMARY.change(row, values(row));
      this.#write(row);
    }
  }

  /** Lets the contexts of a session show, from a log position on, the summaries that are ready. */
  showWaiting(position: number, sessionId: string): void {
    this.#change(this.#waiting(sessionId), () => ({ shownFrom: position }));
  }

  /** Takes summaries that a move after `position` has shown out of the contexts, until the next move. */
  unshow(sessionId: string, position: number): void {
    this.#change(this.#shownAfter(sessionId, position), () => ({ shownFrom: null }));
  }

  /** Makes the checksums of an older version cover what those of this version do. */
  renewChecksums(sessionId: string): void {
    const ids = this.orm.select({ id: summaries.id }).from(summaries).where(eq(summaries.sessionId, sessionId)).all();
    this.#change(
      ids.map(({ id }) => id),
      () => ({}),
    );
  }

  /** Keeps the costs of the deleted rows. */
  discard(ids: readonly number[]): void {
    for (const id of ids) {
      const row = this.orm.delete(summaries).where(eq(summaries.id, id)).returning().get();
      if (row !== undefined) this.#costs.discard(row.sessionId, row.summarizerId, row);
    }
  }

  /** All finished summaries of a session, oldest first. Contexts may never have shown them. */
  done(sessionId: string): DoneSummary[] {
    const isDone = and(eq(summaries.sessionId, sessionId), eq(summaries.status, "done"));
    return this.orm.select().from(summaries).where(isDone).orderBy(summaries.id).all() as DoneSummary[];
  }

  standingRootCount(): number {
    const count = sql<number>`count(distinct ${summaries.rootId})`;
    return this.orm.select({ count }).from(summaries).where(sql.raw(IS_STANDING)).get()!.count;
  }

  /** Takes every summary of the forest out of the contexts, and deletes the claims on such summaries. */
  leaveForest(position: number): void {
    const isStanding = and(eq(summaries.status, "done"), isNull(summaries.shownUntil), sql.raw(IS_OF_FOREST));
    const standing = this.orm.select({ id: summaries.id }).from(summaries).where(isStanding).all();
    this.leaveContexts(
      standing.map(({ id }) => id),
      position,
    );
    this.orm
      .delete(summaries)
      .where(and(eq(summaries.status, "claimed"), sql.raw(IS_OF_FOREST)))
      .run();
  }

  /** Ends the time in which contexts show some summaries. */
  leaveContexts(ids: readonly number[], position: number): void {
    this.#change(ids, () => ({ shownUntil: position }));
  }

  /** Takes back `leaveContexts`. */
  showAgain(id: number): void {
    this.#change([id], () => ({ shownUntil: null }));
  }

  /** Gives a summary to a cluster of the new generation that holds the same messages. */
  carry(id: number, rootId: number, position: number): void {
    this.#change([id], ({ shownFrom }) => {
      return { rootId, logPosition: position, shownFrom: shownFrom ?? position, shownUntil: null };
    });
  }

  mayCover(sessionId: string, ids: readonly number[]): SummaryRow[] {
    return this.#mayCover.all({ sessionId, ids: JSON.stringify(ids) });
  }

  /** Returns the rows that a new finished row replaces. Of a span, older summaries are replaced, too; by a stand-in, only stand-ins. */
  superseded(row: NewSummary): number[] {
    const { id, status, standsIn, logPosition } = summaries;
    const isDone = eq(status, "done");
    const isCovered = and(ne(status, "done"), lte(logPosition, row.logPosition));
    const ofSpan = (): SQL | undefined => {
      const newest = this.orm
        .select({ id })
        .from(summaries)
        .where(and(scopeOf(row), isDone, eq(standsIn, false)));
      const isOlder = and(isDone, notInArray(id, newest.orderBy(desc(id)).limit(SPANS_KEPT)));
      const ownId = this.orm
        .select({ id: max(id) })
        .from(summaries)
        .where(scopeOf(row));
      const isStandIn = and(eq(standsIn, true), sql`${id} <> ${ownId}`);
      return row.standsIn ? isStandIn : or(isCovered, isStandIn, isOlder);
    };
    const isReplaced = row.level === "cluster" ? isCovered : ofSpan();
    const rows = this.orm
      .select({ id })
      .from(summaries)
      .where(and(scopeOf(row), isReplaced));
    return rows.all().map((found) => found.id);
  }

  /** The newest span that a summarizer does not try again until it is longer. */
  givenUp(
    sessionId: string,
    strategy: SpanStrategy,
    summarizer: { id: string; promptVersion: number },
  ): SummaryRow | undefined {
    const isGivenUp = sql`${summaries.status} = 'parked' and ${summaries.nextTryAtMs} is null
      and ${summaries.summarizerId} = ${summarizer.id} and ${summaries.promptVersion} = ${summarizer.promptVersion}`;
    return this.#newestWhere(sessionId, strategy, isGivenUp);
  }

  /** The newest row of a level with a status, without stand-ins. */
  newestSpan(sessionId: string, level: SpanLevel, status: "done"): DoneSummary | undefined;
  newestSpan(sessionId: string, level: SpanLevel, status: "due"): SummaryRow | undefined;
  newestSpan(sessionId: string, level: SpanLevel, status: "done" | "due"): SummaryRow | undefined {
    const isShown = and(eq(summaries.standsIn, false), isNull(summaries.shownUntil));
    return this.#newestWhere(sessionId, level, and(eq(summaries.status, status), isShown));
  }

  #newestWhere(sessionId: string, level: SpanLevel, condition: SQL | undefined): SummaryRow | undefined {
    const isOfSpan = and(eq(summaries.sessionId, sessionId), eq(summaries.level, level), condition);
    const found = this.orm
      .select({ id: max(summaries.id) })
      .from(summaries)
      .where(isOfSpan)
      .get()!;
    return found.id === null ? undefined : this.#byId(found.id); // a whole row, so that its checksum is compared
  }

  /** The newest attempt of a summarizer since the last summary. */
  newestTry(summarized: Summarized, summarizerId: string, promptVersion: number): Try | undefined {
    const { id, status, standsIn, attempts, claimant, createdAtMs, errorCode, nextTryAtMs, logPosition } = summaries;
    const scope = scopeOf(summarized);
    const isDone = and(scope, eq(status, "done"), eq(standsIn, false));
    const lastDone = this.orm
      .select({ id: max(id) })
      .from(summaries)
      .where(isDone);
    const isTry = and(
      scope,
      inArray(status, ["failed", "parked"]),
      eq(summaries.summarizerId, summarizerId),
      eq(summaries.promptVersion, promptVersion),
      sql`${id} > coalesce(${lastDone}, 0)`,
    );
    return this.orm
      .select({ status, logPosition, attempts, claimant, createdAtMs, errorCode, nextTryAtMs })
      .from(summaries)
      .where(isTry)
      .orderBy(desc(id))
      .limit(1)
      .get() as Try | undefined;
  }

  /** All claims on summaries of a session, or of one root or span, oldest first. Expired claims are included. */
  claims(
    of: Pick<Summarized, "sessionId"> | Summarized,
  ): (SummaryRow & { claimant: string; claimedUntilMs: number })[] {
    const scope = "level" in of ? scopeOf(of) : eq(summaries.sessionId, of.sessionId);
    const isClaim = and(scope, eq(summaries.status, "claimed"));
    const rows = this.orm.select().from(summaries).where(isClaim).orderBy(summaries.id);
    return rows.all() as (SummaryRow & { claimant: string; claimedUntilMs: number })[];
  }

  /** Returns false if the claim was lost. */
  renewClaim(id: number, claimant: string, untilMs: number): boolean {
    const renewed = this.orm.update(summaries).set({ claimedUntilMs: untilMs }).where(isHeld(id, claimant)).run();
    return renewed.changes === 1;
  }

  /** Returns false if the claim was lost. */
  endClaim(id: number, claimant: string): boolean {
    return this.orm.delete(summaries).where(isHeld(id, claimant)).run().changes === 1;
  }

  /** Returns when to ask a summarizer again after its service refused everyone or this claimant; undefined for now. */
  pausedUntil(summarizerId: string, claimant: string, nowMs: number): number | undefined {
    const t = summaries;
    const isPausing = sql`${t.pauses} = 1 and ${t.summarizerId} = ${summarizerId} and ${t.nextTryAtMs} > ${nowMs}
      and ${t.createdAtMs} <= ${nowMs} and (${t.status} = 'failed' or ${t.claimant} = ${claimant})`;
    return (
      this.orm
        .select({ untilMs: max(t.nextTryAtMs) })
        .from(t)
        .where(isPausing)
        .get()!.untilMs ?? undefined
    );
  }
}

export function isSpan(level: SummaryRow["level"]): level is SpanLevel {
  return level === "flat" || level === "sandwich" || level === "overview";
}

/** A session has one summary of each strategy, and one overview. Its root is not compared, because that message may be forgotten. */
function scopeOf({ sessionId, level, rootId }: Summarized): SQL | undefined {
  const isOfRoot = isSpan(level) ? undefined : eq(summaries.rootId, rootId);
  return and(eq(summaries.sessionId, sessionId), isOfRoot, eq(summaries.level, level));
}

function isHeld(id: number, claimant: string): SQL | undefined {
  return and(eq(summaries.id, id), eq(summaries.status, "claimed"), eq(summaries.claimant, claimant));
}
