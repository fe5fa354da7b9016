import type { SpanStrategy } from "../../core/options.ts";
import { holdersOf } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import type { summaries } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import type { CostRepository } from "./costs.ts";

const SUMMARY = columns(TABLES.summaries);

export type SummaryRow = RowOf<typeof SUMMARY>;
/** The part of a row that changes, as the driver reads it, with all other values. */
type RawSummary = Record<"id" | "rootId" | "logPosition", number> &
  Record<"shownFrom" | "shownUntil" | "checksum", number | null>;
export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil" | "checksum">;
export type DoneSummary = Omit<SummaryRow, "checksum"> & { title: string; text: string; tokenCount: number };

/** What covers a span: the summary of a strategy, or the overview of a forest. */
export type SpanLevel = SpanStrategy | "overview";

/** What a summary is of: a root, or the span of a strategy in a session. */
export type Summarized = Pick<SummaryRow, "sessionId" | "level" | "rootId">;

/** A failed or parked attempt to make a summary. */
export type Try = Omit<RowOf<typeof TRY>, "status"> & { status: "failed" | "parked" };

/**
 * How many finished summaries of a span are kept of each level. Contexts show the newest. If one of its messages is forgotten, an
 * older row that does not cover the message is shown. Handles name messages, so `expand` needs no row.
 */
const SPANS_KEPT = 3;

/** What a summary covers. */
const COVERING = columns(
  TABLES.summaries,
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

const NEW = SUMMARY.without("id");
const COST = columns(TABLES.summaries, "sessionId", "summarizerId", "inputTokens", "outputTokens", "costUsd");
const TRY = columns(
  TABLES.summaries,
  "status",
  "logPosition",
  "attempts",
  "claimant",
  "createdAtMs",
  "errorCode",
  "nextTryAtMs",
);
const CLAIM = columns(TABLES.summaries, "id", "claimant", "claimedUntilMs");
type Claim = { id: number; claimant: string; claimedUntilMs: number };

/**
 * SQL: the row is of the root, or of the span, that the parameters name. A session has one summary of each strategy, and one
 * overview. Their roots are not compared, because these messages may be forgotten. The plus makes SQLite use the index of roots.
 */
const IS_OF_SAME = `id IN (
  SELECT id FROM summaries WHERE root_id = @rootId AND +session_id = @sessionId AND level = @level
  UNION ALL SELECT id FROM summaries
  WHERE @level <> 'cluster' AND session_id = @sessionId AND level = @level)`;
const IS_OF_FOREST = "level = 'cluster'";
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
  /** Tells which steps each summary of a cluster covers, oldest first. */
  readonly covering = this.statement<{ sessionId: string }, RowOf<typeof COVERING>>`
    SELECT ${COVERING} FROM summaries WHERE ${IS_STANDING_OF_PATH} ORDER BY id`.all;
  readonly #coveredUntil = this.statement<{ sessionId: string; root: number }, number>`
    SELECT log_position FROM summaries INDEXED BY summaries_by_root
    WHERE root_id = @root AND ${IS_STANDING_OF_PATH} ORDER BY log_position DESC LIMIT 1`.pluck().get;
  /** The summaries of clusters, oldest first. Contexts may not show all of them yet. */
  readonly standing = this.statement<{ sessionId: string }, DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE ${IS_STANDING_OF_PATH} ORDER BY id`.all;
  /** The summaries of clusters that contexts may show: those of the roots that were summarized last. */
  readonly shown = this.statement<{ sessionId: string }, DoneSummary>`
    SELECT ${SUMMARY} FROM summaries
    WHERE ${IS_STANDING_OF_PATH} AND shown_from IS NOT NULL AND root_id IN (
      SELECT root_id FROM summaries WHERE ${IS_STANDING_OF_PATH}
      GROUP BY root_id ORDER BY max(id) DESC LIMIT ${SHOWN_ROOTS_MAX})
    ORDER BY id`.all;
  readonly #waiting = this.statement<[sessionId: string], number>`
    SELECT id FROM summaries WHERE session_id = ? AND ${AWAITS_MOVE} AND shown_from IS NULL`.pluck().all;
  /** The row as the driver reads it. */
  readonly #raw = this.statement<[id: number], RawSummary>`
    SELECT ${String(SUMMARY)} FROM summaries WHERE id = ?`.get;
  readonly #write = this.statement<[RawSummary]>`
    UPDATE summaries SET root_id = @rootId, log_position = @logPosition, shown_from = @shownFrom,
      shown_until = @shownUntil, checksum = @checksum WHERE id = @id`.run;
  /** The newest finished summary of a strategy, which contexts show. It may be a stand-in. */
  readonly shownSpan = this.statement<[sessionId: string, strategy: SpanStrategy], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND level = ? AND status = 'done' AND shown_until IS NULL
    ORDER BY id DESC LIMIT 1`.get;
  /** The newest overview that a move of the frontier has shown. */
  readonly shownOverview = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND level = 'overview' AND status = 'done' AND shown_until IS NULL
      AND shown_from IS NOT NULL ORDER BY id DESC LIMIT 1`.get;
  // Rewinds run these.
  /** The summaries of clusters in the generation in use, and the attempts, that were made after a log position. */
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
  readonly #insert = this.statement<[Record<string, unknown>]>`${NEW.insert()}`.run;
  readonly #delete = this.statement<[id: number], RowOf<typeof COST>>`
    DELETE FROM summaries WHERE id = ? RETURNING ${COST}`.get;
  /** All finished summaries of a session, oldest first. Contexts may never have shown them. */
  readonly done = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY.without("checksum")} FROM summaries WHERE session_id = ? AND status = 'done' ORDER BY id`.all;
  readonly standingRootCount = this.statement<[], number>`
    SELECT count(DISTINCT root_id) FROM summaries WHERE ${IS_STANDING}`.pluck().one;
  readonly #idsOfForest = this.statement<[], number>`
    SELECT id FROM summaries WHERE ${IS_OF_FOREST} AND status = 'done' AND shown_until IS NULL`.pluck().all;
  readonly #endClaimsOfForest = this.statement`
    DELETE FROM summaries WHERE ${IS_OF_FOREST} AND status = 'claimed'`.run;
  readonly #superseded = this.statement<Summarized & { logPosition: number; standsIn: number }, number>`
    SELECT id FROM summaries WHERE ${IS_OF_SAME} AND (
      @standsIn = 0 AND status <> 'done' AND log_position <= @logPosition
      OR level <> 'cluster' AND stands_in = 1 AND id <> (SELECT max(id) FROM summaries WHERE ${IS_OF_SAME})
      OR level <> 'cluster' AND @standsIn = 0 AND status = 'done' AND id NOT IN (
        SELECT id FROM summaries WHERE ${IS_OF_SAME} AND status = 'done' AND stands_in = 0
        ORDER BY id DESC LIMIT ${SPANS_KEPT}))`.pluck().all;
  /** The newest span that a summarizer does not try again until it is longer. */
  readonly givenUp = this.statement<
    [sessionId: string, strategy: SpanStrategy, summarizerId: string, promptVersion: number],
    SummaryRow
  >`
    SELECT ${SUMMARY} FROM summaries
    WHERE session_id = ? AND level = ? AND status = 'parked' AND next_try_at_ms IS NULL
      AND summarizer_id = ? AND prompt_version = ? ORDER BY id DESC LIMIT 1`.get;
  /** The newest finished row of a level, without stand-ins. */
  readonly newestSpan = this.statement<[sessionId: string, level: SpanLevel], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries
    WHERE session_id = ? AND level = ? AND status = 'done' AND stands_in = 0 AND shown_until IS NULL
    ORDER BY id DESC LIMIT 1`.get;
  /** The newest span that `compact` has marked. */
  readonly newestDue = this.statement<[sessionId: string, level: SpanLevel], SummaryRow>`
    SELECT ${SUMMARY} FROM summaries
    WHERE session_id = ? AND level = ? AND status = 'due' AND shown_until IS NULL ORDER BY id DESC LIMIT 1`.get;
  /** The newest attempt of a summarizer since the last summary. */
  readonly newestTry = this.statement<Summarized & { summarizerId: string; promptVersion: number }, Try>`
    SELECT ${TRY} FROM summaries
    WHERE ${IS_OF_SAME} AND status IN ('failed', 'parked')
      AND summarizer_id = @summarizerId AND prompt_version = @promptVersion AND id > coalesce((
        SELECT max(id) FROM summaries WHERE ${IS_OF_SAME} AND status = 'done' AND stands_in = 0), 0)
    ORDER BY id DESC LIMIT 1`.get;
  /** All claims on summaries of a session, oldest first. Expired claims are included. */
  readonly claimsIn = this.statement<[sessionId: string], Claim>`
    SELECT ${CLAIM} FROM summaries WHERE session_id = ? AND status = 'claimed' ORDER BY id`.all;
  readonly claimsOf = this.statement<Summarized, Claim>`
    SELECT ${CLAIM} FROM summaries WHERE ${IS_OF_SAME} AND status = 'claimed' ORDER BY id`.all;
  /** Returns 0 if the claim was lost. */
  readonly renewClaim = this.statement<[untilMs: number, id: number, claimant: string]>`
    UPDATE summaries SET claimed_until_ms = ? WHERE id = ? AND status = 'claimed' AND claimant = ?`.changes;
  /** Returns 0 if the claim was lost. */
  readonly endClaim = this.statement<[id: number, claimant: string]>`
    DELETE FROM summaries WHERE id = ? AND status = 'claimed' AND claimant = ?`.changes;
  /** When to ask a summarizer again after its service refused everyone or this claimant; NULL for now. */
  readonly pausedUntil = this.statement<{ summarizerId: string; claimant: string; nowMs: number }, number | null>`
    SELECT max(next_try_at_ms) FROM summaries
    WHERE pauses = 1 AND summarizer_id = @summarizerId AND next_try_at_ms > @nowMs AND created_at_ms <= @nowMs
      AND (status = 'failed' OR claimant = @claimant)`.pluck().one;
  // A list as JSON.
  /** The attempts, because their errors may quote messages, the rows of spans with one of these messages, and all rows of the forest. */
  readonly #mayCover = this.statement<{ sessionId: string; ids: string }, SummaryRow>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = @sessionId
      AND (status NOT IN ('done', 'claimed') OR ${IS_OF_FOREST} OR EXISTS (
        SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
          AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))`;
  readonly #costs: CostRepository;
  readonly #seal = this.sealing(TABLES.summaries);

  constructor(database: StoreDatabase, costs: CostRepository) {
    super(database);
    this.#costs = costs;
  }

  /** Returns the log position up to which summaries cover a cluster; 0 if none covers any of it. A large cluster has thousands. */
  coveredUntil(of: { sessionId: string; root: number }): number {
    return this.#coveredUntil(of) ?? 0;
  }

  /** Returns true if summaries are finished that contexts do not show before the frontier moves. */
  hasWaiting(sessionId: string): boolean {
    return this.#waiting(sessionId).length > 0;
  }

  add(row: NewSummary): number {
    const id = Number(this.#insert(NEW.stored(row)).lastInsertRowid);
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

  /** Keeps the costs of the deleted rows. */
  discard(ids: readonly number[]): void {
    for (const id of ids) {
      const row = this.#delete(id);
      if (row !== undefined) this.#costs.discard(row.sessionId, row.summarizerId, row);
    }
  }

  /** Takes every summary of the forest out of the contexts, and deletes the claims on such summaries. */
  leaveForest(position: number): void {
    this.leaveContexts(this.#idsOfForest(), position);
    this.#endClaimsOfForest();
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
  superseded({ sessionId, level, rootId, logPosition, standsIn }: NewSummary): number[] {
    return this.#superseded({ sessionId, level, rootId, logPosition, standsIn: standsIn ? 1 : 0 });
  }
}

export function isSpan(level: SummaryRow["level"]): level is SpanLevel {
  return level === "flat" || level === "sandwich" || level === "overview";
}
