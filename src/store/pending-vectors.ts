import type { StoreDatabase } from "./open.ts";

/** The first message of a window whose vector is due. */
export interface FirstDue {
  seq: number;
  dueSinceMs: number;
}

/** A message whose vector may be asked for now. */
export interface ClaimableVector {
  messageId: number;
  sessionId: string;
  text: string;
  /** Tries that failed, and the code of what the last one threw. */
  attempts: number;
  errorCode: string | null;
}

/** A try that failed. Another one follows. */
export interface FailedTry {
  messageId: number;
  /** Tries that failed so far, this one included. */
  attempts: number;
  errorCode: string | null;
  error: string;
  nextTryAtMs: number;
}

/** Of the vectors that are due, in a store or one of its sessions. */
export interface DueVectors {
  count: number;
  /** Unix milliseconds from which on one may be asked for; null where none is due. */
  nextTryAtMs: number | null;
}

/** What a whole store says of vectors that are to come, and that never came. */
export interface VectorStats {
  /** Messages whose vectors are due. */
  pendingVectorCount: number;
  /** Unix milliseconds since which the first of them has been; null where none is. */
  pendingVectorsSinceMs: number | null;
  /** Messages for whose vectors the last try failed, those included that the embedder refuses. */
  failedVectorCount: number;
  /** Messages with a text that have no vector, and get none: their vector never came, or the text has no words. */
  withoutVectorCount: number;
}

/** Tries of one message after which its failing may be its own fault, and is no sign that the service is away. */
const AWAY_ATTEMPTS_MAX = 3;

const CLAIMABLE = `p.status = 'due' AND p.next_try_at_ms <= @nowMs
  AND (p.claimed_until_ms IS NULL OR p.claimed_until_ms <= @nowMs OR p.claimant = @claimant) AND (@sessionId IS NULL OR p.session_id = @sessionId)`;

/** Rows of `pending_vectors`. */
export class PendingVectorRepository {
  readonly #add;
  readonly #addAll;
  readonly #delete;
  readonly #deleteAll;
  readonly #firstDue;
  readonly #firstDueSince;
  readonly #claimable;
  readonly #claim;
  readonly #release;
  readonly #fail;
  readonly #note;
  readonly #refuse;
  readonly #store;
  readonly #awayUntil;
  readonly #due;
  readonly #nextTryAfter;
  readonly #stats;

  constructor({ client }: StoreDatabase) {
    this.#add = client.prepare<[number, string, number]>(
      "INSERT INTO pending_vectors (message_id, session_id, due_since_ms) VALUES (?, ?, ?)",
    );
    this.#addAll = client.prepare<{ ids: string; dueSinceMs: number }>(
      `INSERT INTO pending_vectors (message_id, session_id, due_since_ms)
       SELECT id, session_id, @dueSinceMs FROM messages WHERE id IN (SELECT value FROM json_each(@ids))`,
    );
    this.#deleteAll = client.prepare("DELETE FROM pending_vectors");
    this.#delete = client.prepare<[number]>("DELETE FROM pending_vectors WHERE message_id = ?");
    // Ids rise with places, so the index has the first of a session at its front.
    const due = `FROM pending_vectors p JOIN messages m ON m.id = p.message_id
      WHERE p.session_id = ? AND p.status = 'due' AND m.pinned = 0`;
    this.#firstDue = client.prepare<[string], FirstDue>(
      `SELECT m.seq, p.due_since_ms AS dueSinceMs ${due} ORDER BY p.message_id LIMIT 1`,
    );
    this.#firstDueSince = client
      .prepare<[string, number], number>(`SELECT m.seq ${due} AND p.due_since_ms > ? ORDER BY p.message_id LIMIT 1`)
      .pluck();
    this.#claimable = client.prepare<
      { nowMs: number; claimant: string; sessionId: string | null; limit: number },
      ClaimableVector
    >(
      `SELECT p.message_id AS messageId, p.session_id AS sessionId, m.text, p.attempts, p.error_code AS errorCode
       FROM pending_vectors p JOIN messages m ON m.id = p.message_id
       WHERE ${CLAIMABLE} ORDER BY p.message_id LIMIT @limit`,
    );
    const claimed = "message_id IN (SELECT value FROM json_each(@ids)) AND claimant = @claimant";
    this.#claim = client.prepare<{ ids: string; claimant: string; untilMs: number }>(
      `UPDATE pending_vectors SET claimant = @claimant, claimed_until_ms = @untilMs
       WHERE message_id IN (SELECT value FROM json_each(@ids))`,
    );
    this.#release = client.prepare<{ ids: string; claimant: string }>(
      `UPDATE pending_vectors SET claimant = NULL, claimed_until_ms = NULL WHERE ${claimed}`,
    );
    this.#fail = client.prepare<FailedTry & { claimant: string }>(
      `UPDATE pending_vectors SET claimant = NULL, claimed_until_ms = NULL,
         attempts = @attempts, error_code = @errorCode, error = @error, next_try_at_ms = @nextTryAtMs
       WHERE message_id = @messageId AND claimant = @claimant`,
    );
    this.#note = client.prepare<{ ids: string; claimant: string; errorCode: string | null; error: string }>(
      `UPDATE pending_vectors SET claimant = NULL, claimed_until_ms = NULL, error_code = @errorCode, error = @error
       WHERE ${claimed}`,
    );
    this.#refuse = client.prepare<[string]>(
      "UPDATE pending_vectors SET status = 'refused' WHERE attempts > 0 AND message_id IN (SELECT value FROM json_each(?))",
    );
    this.#store = client.prepare<{ id: number; embedding: Buffer; embedderId: string }>(
      `UPDATE messages SET embedding = @embedding, embedder_id = @embedderId
       WHERE id = @id AND embedding IS NULL AND EXISTS (SELECT 1 FROM pending_vectors WHERE message_id = @id)`,
    );
    this.#awayUntil = client
      .prepare<[number], number | null>(
        `SELECT max(next_try_at_ms) FROM pending_vectors
         WHERE status = 'due' AND error_code = 'MODEL_UNAVAILABLE' AND attempts <= ${AWAY_ATTEMPTS_MAX} AND next_try_at_ms > ?`,
      )
      .pluck();
    this.#due = client.prepare<{ sessionId: string | null }, DueVectors>(
      `SELECT count(*) AS count, min(max(next_try_at_ms, coalesce(claimed_until_ms, 0))) AS nextTryAtMs
       FROM pending_vectors WHERE status = 'due' AND (@sessionId IS NULL OR session_id = @sessionId)`,
    );
    this.#nextTryAfter = client
      .prepare<{ sessionId: string; sinceMs: number; awayUntilMs: number }, number | null>(
        `SELECT min(at_ms) FROM (
           SELECT max(next_try_at_ms, coalesce(claimed_until_ms, 0), @awayUntilMs) AS at_ms
           FROM pending_vectors WHERE status = 'due' AND session_id = @sessionId)
         WHERE at_ms > @sinceMs`,
      )
      .pluck();
    this.#stats = client.prepare<[], VectorStats>(
      `SELECT (SELECT count(*) FROM pending_vectors WHERE status = 'due') AS pendingVectorCount,
              (SELECT min(due_since_ms) FROM pending_vectors WHERE status = 'due') AS pendingVectorsSinceMs,
              (SELECT count(*) FROM pending_vectors WHERE error IS NOT NULL) AS failedVectorCount,
              (SELECT count(*) FROM messages m WHERE m.embedding IS NULL AND m.text <> '' AND NOT EXISTS (
                 SELECT 1 FROM pending_vectors p WHERE p.message_id = m.id AND p.status = 'due')) AS withoutVectorCount`,
    );
  }

  add(messageId: number, sessionId: string, dueSinceMs: number): void {
    this.#add.run(messageId, sessionId, dueSinceMs);
  }

  /** Messages that are there already. */
  addAll(messageIds: readonly number[], dueSinceMs: number): void {
    this.#addAll.run({ ids: JSON.stringify(messageIds), dueSinceMs });
  }

  deleteAll(): void {
    this.#deleteAll.run();
  }

  delete(messageIds: readonly number[]): void {
    for (const id of messageIds) this.#delete.run(id);
  }

  /** Pinned messages are left out: they wait nowhere. */
  firstDue(sessionId: string): FirstDue | undefined {
    return this.#firstDue.get(sessionId);
  }

  /** Place of the first that has been due since a later moment than this one. */
  firstDueSince(sessionId: string, sinceMs: number): number | undefined {
    return this.#firstDueSince.get(sessionId, sinceMs);
  }

  /** The oldest that may be asked for now and that nobody but `claimant` is asking for, of one session if it is given. */
  claimable(nowMs: number, claimant: string, sessionId: string | undefined, limit: number): ClaimableVector[] {
    return this.#claimable.all({ nowMs, claimant, sessionId: sessionId ?? null, limit });
  }

  claim(messageIds: readonly number[], claimant: string, untilMs: number): void {
    this.#claim.run({ ids: JSON.stringify(messageIds), claimant, untilMs });
  }

  release(messageIds: readonly number[], claimant: string): void {
    this.#release.run({ ids: JSON.stringify(messageIds), claimant });
  }

  /** Records tries of this claimant that failed, and ends its claims. */
  fail(claimant: string, tries: readonly FailedTry[]): void {
    for (const failed of tries) this.#fail.run({ claimant, ...failed });
  }

  /** A try failed for no fault of these messages: it does not count. */
  note(messageIds: readonly number[], claimant: string, errorCode: string | null, error: string): void {
    this.#note.run({ ids: JSON.stringify(messageIds), claimant, errorCode, error });
  }

  /** Nobody asks for these again, nor waits for them; but for those that have come to another embedder, which was never asked. */
  refuse(messageIds: readonly number[]): void {
    this.#refuse.run(JSON.stringify(messageIds));
  }

  /**
   * A vector came.
   *
   * @returns false where its message does not wait for it: it was forgotten, went into the forest, or has one.
   */
  store(messageId: number, embedding: Buffer, embedderId: string): boolean {
    const isStored = this.#store.run({ id: messageId, embedding, embedderId }).changes > 0;
    this.#delete.run(messageId);
    return isStored;
  }

  /** Unix milliseconds until which the service is away, by what its last replies said; undefined where it is not. */
  awayUntil(nowMs: number): number | undefined {
    return this.#awayUntil.get(nowMs) ?? undefined;
  }

  due(sessionId: string | undefined): DueVectors {
    return this.#due.get({ sessionId: sessionId ?? null })!;
  }

  /** The first moment after another from which on one of a session may be asked for; undefined where there is none. */
  nextTryAfter(sessionId: string, sinceMs: number): number | undefined {
    const awayUntilMs = this.awayUntil(sinceMs) ?? 0;
    return this.#nextTryAfter.get({ sessionId, sinceMs, awayUntilMs }) ?? undefined;
  }

  stats(): VectorStats {
    return this.#stats.get()!;
  }
}
