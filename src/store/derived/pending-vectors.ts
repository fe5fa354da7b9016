import {
  and,
  count,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  ne,
  notExists,
  notInArray,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { PathReader } from "../facts/paths.ts";
import { messages, pendingVectors } from "../sql/schema.ts";
import { heldUntilMs, type Lease } from "./claimant.ts";

export interface ClaimableVector {
  messageId: number;
  sessionId: string;
  text: string;
  attempts: number;
  errorCode: string | null;
}

/** `attempts` stays unchanged if the message did not cause the failure. */
type FailedTry = Pick<typeof pendingVectors.$inferInsert, "attempts" | "errorCode" | "error" | "nextTryAtMs">;

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

const IS_DUE = eq(pendingVectors.status, "due");

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

  /** Rows about messages that have moved to another session move with them. */
  readonly follow = this.statement<{ from: string; to: string }>`
    UPDATE pending_vectors SET session_id = @to WHERE session_id = @from AND message_id IN (
      SELECT id FROM messages WHERE session_id = @to)`.run;

  /** The seq of the first message whose vector became due after `sinceMs`. Pinned messages are ignored. */
  firstDue(sessionId: string, sinceMs: number): number | undefined {
    return this.paths.oldest(sessionId, (piece) => this.#firstDue.get(piece.sessionId, sinceMs, piece.seqLast));
  }

  deleteAll(): void {
    this.orm.delete(pendingVectors).run();
  }

  delete(messageIds: readonly number[]): void {
    for (const id of messageIds) this.#delete.run(id);
  }

  /** Returns the oldest vectors that may be requested now. Vectors that others have claimed are left out. */
  claimable(lease: Lease, sessionId: string | undefined, limit: number): ClaimableVector[] {
    const { messageId, attempts, errorCode, nextTryAtMs, claimant } = pendingVectors;
    const others = [...this.#holders(lease).keys()].filter((holder) => holder !== lease.claimant);
    const isFree = or(isNull(claimant), notInArray(claimant, others));
    return this.orm
      .select({ messageId, sessionId: pendingVectors.sessionId, text: messages.text, attempts, errorCode })
      .from(pendingVectors)
      .innerJoin(messages, eq(messages.id, messageId))
      .where(and(isDueIn(sessionId), lte(nextTryAtMs, lease.nowMs), isFree))
      .orderBy(messageId)
      .limit(limit)
      .all();
  }

  claim(messageIds: readonly number[], { claimant, untilMs }: Lease): void {
    const isChosen = inArray(pendingVectors.messageId, messageIds);
    this.orm.update(pendingVectors).set({ claimant, claimedUntilMs: untilMs }).where(isChosen).run();
  }

  /** Returns the number of claims that were not lost. */
  renewClaims(messageIds: readonly number[], { claimant, untilMs }: Lease): number {
    const isHeld = and(inArray(pendingVectors.messageId, messageIds), eq(pendingVectors.claimant, claimant));
    return this.orm.update(pendingVectors).set({ claimedUntilMs: untilMs }).where(isHeld).run().changes;
  }

  /** Returns the claimants whose claims hold, and when to look at each again. */
  #holders(lease: Lease): Map<string, number> {
    const claimant = sql<string>`${pendingVectors.claimant}`;
    const claimedUntilMs = sql<number>`max(${pendingVectors.claimedUntilMs})`;
    const isClaimed = isNotNull(pendingVectors.claimant);
    const claims = this.orm
      .select({ claimant, claimedUntilMs })
      .from(pendingVectors)
      .where(isClaimed)
      .groupBy(claimant);
    const holders = new Map<string, number>();
    for (const claim of claims.all()) {
      const untilMs = heldUntilMs(claim, lease);
      if (untilMs !== undefined) holders.set(claim.claimant, untilMs);
    }
    return holders;
  }

  /** The time from which a vector may be requested. */
  #claimableAtMs(lease: Lease): SQL<number> {
    const { claimant, nextTryAtMs } = pendingVectors;
    const heldUntil = [...this.#holders(lease)].map(
      ([holder, untilMs]) => sql`iif(${claimant} = ${holder}, ${untilMs}, 0)`,
    );
    return sql`max(${sql.join([nextTryAtMs, ...heldUntil], sql`, `)}, 0)`;
  }

  /** Ends claims, and records the failure if there was one. */
  endClaims(messageIds: readonly number[], claimant: string, failed: Partial<FailedTry> = {}): void {
    this.orm
      .update(pendingVectors)
      .set({ ...failed, claimant: null, claimedUntilMs: null })
      .where(and(inArray(pendingVectors.messageId, messageIds), eq(pendingVectors.claimant, claimant)))
      .run();
  }

  /** Gives up the vectors of messages that have failed. Others are due to another embedder and stay. */
  refuse(messageIds: readonly number[]): void {
    const isChosen = and(inArray(pendingVectors.messageId, messageIds), gt(pendingVectors.attempts, 0));
    this.orm.update(pendingVectors).set({ status: "refused" }).where(isChosen).run();
  }

  /** Returns false if the message no longer waits: it was forgotten, entered the forest, or has a vector. */
  store(messageId: number, embedding: Buffer, embedderId: string): boolean {
    const isStored = this.#store.run({ id: messageId, embedding, embedderId }).changes > 0;
    this.#delete.run(messageId);
    return isStored;
  }

  /** Returns when to try again during an outage of the service, in Unix milliseconds; undefined without an outage. */
  awayUntil(nowMs: number): number | undefined {
    const { errorCode, attempts, nextTryAtMs } = pendingVectors;
    const isOutage = and(IS_DUE, eq(errorCode, "MODEL_UNAVAILABLE"), lte(attempts, OUTAGE_ATTEMPTS_MAX));
    return this.#momentOf(sql`max(${nextTryAtMs})`, and(isOutage, gt(nextTryAtMs, nowMs)));
  }

  /** Counts the vectors that are due. `nextTryAtMs` is when the first of them may be requested. */
  due(sessionId: string | undefined, lease: Lease): { count: number; nextTryAtMs: number | null } {
    const nextTryAtMs = sql<number | null>`min(${this.#claimableAtMs(lease)})`;
    return this.orm.select({ count: count(), nextTryAtMs }).from(pendingVectors).where(isDueIn(sessionId)).get()!;
  }

  /** Returns the first time after `sinceMs` when a vector of a session may be requested; undefined if none is due. */
  nextTryAfter(sessionId: string, sinceMs: number, lease: Lease): number | undefined {
    const atMs = sql`max(${this.#claimableAtMs(lease)}, ${this.awayUntil(sinceMs) ?? 0})`;
    return this.#momentOf(sql`min(${atMs})`, and(isDueIn(sessionId), gt(atMs, sinceMs)));
  }

  #momentOf(moment: SQL, where: SQL | undefined): number | undefined {
    const atMs = moment as SQL<number | null>;
    return this.orm.select({ atMs }).from(pendingVectors).where(where).get()!.atMs ?? undefined;
  }

  stats(): VectorStats {
    const { messageId, dueSinceMs, error } = pendingVectors;
    const counts = this.orm
      .select({
        pendingVectorCount: sql<number>`count(*) FILTER (WHERE ${IS_DUE})`,
        pendingVectorsSinceMs: sql<number | null>`min(${dueSinceMs}) FILTER (WHERE ${IS_DUE})`,
        failedVectorCount: count(error),
      })
      .from(pendingVectors)
      .get()!;
    const due = this.orm
      .select()
      .from(pendingVectors)
      .where(and(eq(messageId, messages.id), IS_DUE));
    const isWithout = and(isNull(messages.embedding), ne(messages.text, ""), notExists(due));
    const { withoutVectorCount } = this.orm
      .select({ withoutVectorCount: count() })
      .from(messages)
      .where(isWithout)
      .get()!;
    return { ...counts, withoutVectorCount };
  }
}

function isDueIn(sessionId: string | undefined): SQL | undefined {
  return and(IS_DUE, sessionId === undefined ? undefined : eq(pendingVectors.sessionId, sessionId));
}
