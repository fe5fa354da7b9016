import { PathReader } from "../facts/paths.ts";
import { columns } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { heldUntilMs, type Lease } from "./claimant.ts";

export interface ClaimableVector {
  messageId: number;
  sessionId: string;
  text: string;
  attempts: number;
  errorCode: string | null;
}

/** `attempts` and `nextTryAtMs` stay unchanged if the message did not cause the failure. */
interface FailedTry {
  attempts?: number;
  errorCode: string | null;
  error: string;
  nextTryAtMs?: number;
}

/** Counts of the messages of a store that have no vector. */
export interface VectorStats {
  /** Messages whose vectors are due. */
  pendingVectorCount: number;
  /** Unix milliseconds at which the first of them became due; null if none is. */
  pendingVectorsSinceMs: number | null;
  /** Messages whose last attempt failed, and messages that the embedder refuses. */
  failedVectorCount: number;
  /** Messages with a text that will never have a vector. It did not come in time, or the text has no words. */
  withoutVectorCount: number;
}

/** A message that failed more often may be the cause itself, so its failures do not mean an outage. */
const OUTAGE_ATTEMPTS_MAX = 3;

const CLAIMABLE = columns(TABLES.pendingVectors, "messageId", "sessionId", "attempts", "errorCode").of("p");

/** SQL: the vector `p` is due, in any session or in `@sessionId`. One condition for both would use no index. */
const IS_DUE = "p.status = 'due'";
const IS_DUE_IN = `${IS_DUE} AND p.session_id = @sessionId`;
const IS_GIVEN = "message_id IN (SELECT value FROM json_each(@ids))";
/** SQL: the time from which the vector `p` may be requested. `@holders` has the times until which claims hold. */
const CLAIMABLE_AT = `CASE WHEN p.claimant IS NULL THEN p.next_try_at_ms
  ELSE max(p.next_try_at_ms, coalesce((SELECT value FROM json_each(@holders) WHERE key = p.claimant), 0)) END`;

/** SQL: the oldest of some vectors that nobody holds. `@others` has the claimants whose claims hold. */
const claimableIf = (condition: string): string => `
  SELECT ${CLAIMABLE}, m.text FROM pending_vectors p JOIN messages m ON m.id = p.message_id
  WHERE ${condition} AND p.next_try_at_ms <= @nowMs
    AND (p.claimant IS NULL OR p.claimant NOT IN (SELECT value FROM json_each(@others)))
  ORDER BY p.message_id LIMIT @limit`;
const dueIf = (condition: string): string =>
  `SELECT count(*) AS count, min(${CLAIMABLE_AT}) AS nextTryAtMs FROM pending_vectors p WHERE ${condition}`;
type Claiming = { nowMs: number; others: string; limit: number };
type Due = { count: number; nextTryAtMs: number | null };

export class PendingVectorRepository extends PathReader {
  // Appends run these, and arriving vectors. A window finds its first message by id, because ids rise with seq.
  readonly add = this.statement<[dueSinceMs: number, messageId: number]>`
    INSERT INTO pending_vectors (message_id, session_id, due_since_ms)
    SELECT id, session_id, ? FROM messages WHERE id = ?`.run;
  readonly #delete = this.statement<[messageId: number]>`DELETE FROM pending_vectors WHERE message_id = ?`;
  readonly #firstDue = this.statement<[sessionId: string, sinceMs: number, seqLast: number], number>`
    SELECT m.seq FROM pending_vectors p JOIN messages m ON m.id = p.message_id
    WHERE p.session_id = ? AND p.status = 'due' AND m.pinned = 0 AND p.due_since_ms > ? AND m.seq <= ?
    ORDER BY p.message_id LIMIT 1`.pluck();
  readonly #store = this.statement<{ id: number; embedding: Buffer; embedderId: string }>`
    UPDATE messages SET embedding = @embedding, embedder_id = @embedderId
    WHERE id = @id AND embedding IS NULL AND EXISTS (SELECT 1 FROM pending_vectors WHERE message_id = @id)`;

  // Lists as JSON, and functions of rows.
  readonly #claimable = this.statement<Claiming, ClaimableVector>`${claimableIf(IS_DUE)}`.all;
  readonly #claimableIn = this.statement<Claiming & { sessionId: string }, ClaimableVector>`
    ${claimableIf(IS_DUE_IN)}`.all;
  readonly #claim = this.statement<{ ids: string; claimant: string; untilMs: number }>`
    UPDATE pending_vectors SET claimant = @claimant, claimed_until_ms = @untilMs WHERE ${IS_GIVEN}`.run;
  readonly #renew = this.statement<{ ids: string; claimant: string; untilMs: number }>`
    UPDATE pending_vectors SET claimed_until_ms = @untilMs WHERE ${IS_GIVEN} AND claimant = @claimant`.run;
  readonly #claims = this.statement<[], { claimant: string; claimedUntilMs: number }>`
    SELECT claimant, max(claimed_until_ms) AS claimedUntilMs FROM pending_vectors WHERE claimant IS NOT NULL
    GROUP BY claimant`.all;
  readonly #endClaims = this.statement<{ ids: string; claimant: string }>`
    UPDATE pending_vectors SET claimant = NULL, claimed_until_ms = NULL
    WHERE ${IS_GIVEN} AND claimant = @claimant`.run;
  readonly #fail = this.statement<
    { ids: string; claimant: string } & { [Name in keyof Required<FailedTry>]: FailedTry[Name] | null }
  >`
    UPDATE pending_vectors SET attempts = coalesce(@attempts, attempts), error_code = @errorCode, error = @error,
      next_try_at_ms = coalesce(@nextTryAtMs, next_try_at_ms)
    WHERE ${IS_GIVEN} AND claimant = @claimant`.run;
  readonly #refuse = this.statement<{ ids: string }>`
    UPDATE pending_vectors SET status = 'refused' WHERE ${IS_GIVEN} AND attempts > 0`.run;
  readonly #awayUntil = this.statement<{ nowMs: number }, number | null>`
    SELECT max(p.next_try_at_ms) FROM pending_vectors p
    WHERE ${IS_DUE} AND p.error_code = 'MODEL_UNAVAILABLE' AND p.attempts <= ${OUTAGE_ATTEMPTS_MAX}
      AND p.next_try_at_ms > @nowMs`.pluck().one;
  readonly #due = this.statement<{ holders: string }, Due>`${dueIf(IS_DUE)}`.one;
  readonly #dueIn = this.statement<{ sessionId: string; holders: string }, Due>`${dueIf(IS_DUE_IN)}`.one;
  readonly #nextTryAfter = this.statement<
    { sessionId: string; holders: string; sinceMs: number; awayMs: number },
    number | null
  >`
    SELECT min(atMs) FROM (SELECT max(${CLAIMABLE_AT}, @awayMs) AS atMs FROM pending_vectors p WHERE ${IS_DUE_IN})
    WHERE atMs > @sinceMs`.pluck().one;
  readonly stats = this.statement<[], Omit<VectorStats, "withoutVectorCount">>`
    SELECT count(*) FILTER (WHERE status = 'due') AS pendingVectorCount,
      min(due_since_ms) FILTER (WHERE status = 'due') AS pendingVectorsSinceMs, count(error) AS failedVectorCount
    FROM pending_vectors`.one;
  /** Reads every message. */
  readonly withoutVectorCount = this.statement<[], number>`
    SELECT count(*) FROM messages m WHERE m.embedding IS NULL AND m.text <> '' AND NOT EXISTS (
      SELECT 1 FROM pending_vectors d WHERE d.message_id = m.id AND d.status = 'due')`.pluck().one;
  readonly deleteAll = this.statement`DELETE FROM pending_vectors`.run;
  /** Rows about messages that have moved to another session move with them. */
  readonly follow = this.statement<{ from: string; to: string }>`
    UPDATE pending_vectors SET session_id = @to WHERE session_id = @from AND message_id IN (
      SELECT id FROM messages WHERE session_id = @to)`.run;

  /** The seq of the first message whose vector became due after `sinceMs`. Pinned messages are ignored. */
  firstDue(sessionId: string, sinceMs: number): number | undefined {
    return this.paths.oldest(sessionId, (piece) => this.#firstDue.get(piece.sessionId, sinceMs, piece.seqLast));
  }

  delete(messageIds: readonly number[]): void {
    for (const id of messageIds) this.#delete.run(id);
  }

  /** Returns the oldest vectors that may be requested now. Vectors that others have claimed are left out. */
  claimable(lease: Lease, sessionId: string | undefined, limit: number): ClaimableVector[] {
    const others = Object.keys(this.#holders(lease)).filter((holder) => holder !== lease.claimant);
    const wanted = { nowMs: lease.nowMs, limit, others: JSON.stringify(others) };
    return sessionId === undefined ? this.#claimable(wanted) : this.#claimableIn({ ...wanted, sessionId });
  }

  claim(messageIds: readonly number[], { claimant, untilMs }: Lease): void {
    this.#claim({ ids: JSON.stringify(messageIds), claimant, untilMs });
  }

  /** Returns the number of claims that were not lost. */
  renewClaims(messageIds: readonly number[], { claimant, untilMs }: Lease): number {
    return this.#renew({ ids: JSON.stringify(messageIds), claimant, untilMs }).changes;
  }

  /** Returns when to look again at each claimant whose claims hold. */
  #holders(lease: Lease): Record<string, number> {
    const holders = this.#claims().map((claim) => [claim.claimant, heldUntilMs(claim, lease)]);
    return Object.fromEntries(holders.filter(([, untilMs]) => untilMs !== undefined));
  }

  /** Ends claims, and records the failure if there was one. */
  endClaims(messageIds: readonly number[], claimant: string, failed?: FailedTry): void {
    const ids = JSON.stringify(messageIds);
    if (failed !== undefined) this.#fail({ ids, claimant, attempts: null, nextTryAtMs: null, ...failed });
    this.#endClaims({ ids, claimant });
  }

  /** Gives up the vectors of messages that have failed. Others are due to another embedder and stay. */
  refuse(messageIds: readonly number[]): void {
    this.#refuse({ ids: JSON.stringify(messageIds) });
  }

  /** Returns false if the message no longer waits: it was forgotten, entered the forest, or has a vector. */
  store(messageId: number, embedding: Buffer, embedderId: string): boolean {
    const isStored = this.#store.run({ id: messageId, embedding, embedderId }).changes > 0;
    this.#delete.run(messageId);
    return isStored;
  }

  /** Returns when to try again during an outage of the service, in Unix milliseconds; undefined without an outage. */
  awayUntil(nowMs: number): number | undefined {
    return this.#awayUntil({ nowMs }) ?? undefined;
  }

  /** Counts the vectors that are due. `nextTryAtMs` is when the first of them may be requested. */
  due(sessionId: string | undefined, lease: Lease): Due {
    const holders = JSON.stringify(this.#holders(lease));
    return sessionId === undefined ? this.#due({ holders }) : this.#dueIn({ sessionId, holders });
  }

  /** Returns the first time after `sinceMs` when a vector of a session may be requested; undefined if none is due. */
  nextTryAfter(sessionId: string, sinceMs: number, lease: Lease): number | undefined {
    const holders = JSON.stringify(this.#holders(lease));
    return this.#nextTryAfter({ sessionId, holders, sinceMs, awayMs: this.awayUntil(sinceMs) ?? 0 }) ?? undefined;
  }
}
