import { decodeVector, encodeVector } from "../vector/codec.ts";
import { GENERATION_NOW, IS_UNMOVED } from "./generations.ts";
import type { GraduatingMessage } from "./messages.ts";
import type { StoreDatabase } from "./open.ts";

/** Which vectors: those of an embedder, for the generation to come. */
export interface Target {
  generation: number;
  embedderId: string;
}

/** A message whose vector for the target is still to be made. */
export interface UnstagedMessage {
  id: number;
  text: string;
  /** Its stored vector, where that is of this very embedder. */
  embedding: Float32Array | undefined;
  /** Whether it is in the forest. */
  isGraduated: boolean;
}

/** A row of the log in use by which the next forest is grown. */
export interface FollowedRow {
  position: number;
  sessionId: string;
  kind: "start" | "join" | "settle";
  node: number;
  root: number;
}

/** A message as the next forest sees it. */
export interface StagedMessage extends GraduatingMessage {
  /** Whether its vector is still to be made. */
  isMissing: boolean;
}

/** What is still to be embedded. */
export interface Unstaged {
  messageCount: number;
  /** Of their texts, in UTF-8. */
  byteLength: number;
}

type StagedRow = Omit<StagedMessage, "embedding" | "isMissing"> & { embedding: Buffer | null; isMissing: number };

const IS_GRADUATED = "(m.pinned = 0 AND m.seq < s.graduated_seq)";

/** Of messages with a text: those that have no row for the target. `m` is the message. */
const IS_UNSTAGED = `m.text <> '' AND NOT EXISTS (
  SELECT 1 FROM reembedded_vectors r
  WHERE r.generation = @generation AND r.embedder_id = @embedderId AND r.message_id = m.id)`;

const STAGED = `SELECT m.id, m.seq, m.step_id AS stepId, m.turn_seq AS turnSeq, m.role, m.name, m.text,
  m.token_count AS tokenCount, m.created_at_ms AS createdAtMs, r.embedding, m.text <> '' AND r.message_id IS NULL AS isMissing`;

const VECTOR = `LEFT JOIN reembedded_vectors r
  ON r.generation = @generation AND r.embedder_id = @embedderId AND r.message_id = m.id`;

/** Rows of `reembedded_vectors`, and what is read of messages and log to grow the next generation from them. */
export class ReembeddingRepository {
  readonly #unstaged;
  readonly #count;
  readonly #stage;
  readonly #deleteWaste;
  readonly #followed;
  readonly #ofSteps;
  readonly #ofSession;
  readonly #lacking;
  readonly #messageCount;
  readonly #rest;
  readonly #unmoved;
  readonly #move;
  readonly #unstage;
  readonly #drop;

  constructor({ client }: StoreDatabase) {
    this.#unstaged = client.prepare<
      Target & { after: number; limit: number },
      { id: number; text: string; embedding: Buffer | null; isGraduated: number }
    >(
      `SELECT m.id, m.text, CASE WHEN m.embedder_id = @embedderId THEN m.embedding END AS embedding,
         ${IS_GRADUATED} AS isGraduated
       FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE m.id > @after AND ${IS_UNSTAGED} ORDER BY m.id LIMIT @limit`,
    );
    this.#count = client.prepare<Target, Unstaged>(
      `SELECT count(*) AS messageCount, coalesce(sum(octet_length(m.text)), 0) AS byteLength
       FROM messages m WHERE ${IS_UNSTAGED} AND (m.embedding IS NULL OR m.embedder_id <> @embedderId)`,
    );
    // Not for a message that was forgotten meanwhile, and not twice.
    this.#stage = client.prepare<Target & { id: number; embedding: Buffer | null }>(
      `INSERT INTO reembedded_vectors (generation, embedder_id, message_id, embedding)
       SELECT @generation, @embedderId, id, @embedding FROM messages WHERE id = @id ON CONFLICT DO NOTHING`,
    );
    this.#deleteWaste = client.prepare<[number]>(
      `DELETE FROM reembedded_vectors WHERE rowid IN (
         SELECT r.rowid FROM reembedded_vectors r
         WHERE generation < ${GENERATION_NOW} OR (generation = ${GENERATION_NOW} AND NOT (${IS_UNMOVED})) LIMIT ?)`,
    );
    this.#followed = client.prepare<[number, number], FollowedRow>(
      `SELECT id AS position, session_id AS sessionId, kind, node, root FROM unions NOT INDEXED
       WHERE id > ? AND level = 'cluster' AND generation = ${GENERATION_NOW} ORDER BY id LIMIT ?`,
    );
    this.#ofSteps = client.prepare<Target & { steps: string }, StagedRow>(
      `${STAGED} FROM json_each(@steps) step
       CROSS JOIN messages m ON m.id = step.value OR (m.step_id = step.value AND m.step_id <> m.id)
       ${VECTOR} ORDER BY m.seq`,
    );
    this.#ofSession = client.prepare<Target & { sessionId: string; seqEnd: number }, StagedRow>(
      `${STAGED} FROM messages m ${VECTOR}
       WHERE m.session_id = @sessionId AND m.seq < @seqEnd AND m.pinned = 0 ORDER BY m.seq`,
    );
    this.#lacking = client.prepare<[], { id: number; text: string }>(
      `SELECT m.id, m.text FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE m.text <> '' AND m.embedding IS NULL AND ${IS_GRADUATED}`,
    );
    this.#messageCount = client.prepare<[], number>("SELECT count(*) FROM messages").pluck();
    this.#rest = client
      .prepare<[number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM reembedded_vectors WHERE generation <= ${GENERATION_NOW} LIMIT ?)`,
      )
      .pluck();
    this.#unmoved = client.prepare<[number], Target & { messageId: number }>(
      `SELECT r.generation, r.embedder_id AS embedderId, r.message_id AS messageId FROM reembedded_vectors r
       WHERE ${IS_UNMOVED} LIMIT ?`,
    );
    this.#move = client.prepare<Target & { messageId: number }>(
      `UPDATE messages SET (embedding, embedder_id) = (
         SELECT r.embedding, CASE WHEN r.embedding IS NOT NULL THEN r.embedder_id END FROM reembedded_vectors r
         WHERE r.generation = @generation AND r.embedder_id = @embedderId AND r.message_id = @messageId)
       WHERE id = @messageId`,
    );
    this.#unstage = client.prepare<Target & { messageId: number }>(
      "DELETE FROM reembedded_vectors WHERE generation = @generation AND embedder_id = @embedderId AND message_id = @messageId",
    );
    this.#drop = client.prepare<[number]>("UPDATE messages SET embedding = NULL, embedder_id = NULL WHERE id = ?");
  }

  /** Messages with a text and without a row for the target, after an id. */
  unstaged(target: Target, after: number, limit: number): UnstagedMessage[] {
    return this.#unstaged.all({ ...target, after, limit }).map(({ id, text, embedding, isGraduated }) => {
      return { id, text, embedding: decoded(embedding) ?? undefined, isGraduated: isGraduated === 1 };
    });
  }

  /** What the embedder has still to read: neither staged, nor stored with a vector of it. */
  unstagedCount(target: Target): Unstaged {
    return this.#count.get(target)!;
  }

  /**
   * @param embedding  Undefined where the text has no words.
   * @returns false where another process was faster, or the message was forgotten meanwhile.
   */
  stage(target: Target, id: number, embedding: Float32Array | undefined): boolean {
    const bytes = embedding === undefined ? null : encodeVector(embedding);
    return this.#stage.run({ ...target, id, embedding: bytes }).changes > 0;
  }

  /** Rows that no generation will use: another came before it. @returns how many went. */
  deleteWaste(limit: number): number {
    return this.#deleteWaste.run(limit).changes;
  }

  /** Starts, joins and settles of all sessions after a position of the log in use, in order. */
  followed(position: number, limit: number): FollowedRow[] {
    return this.#followed.all(position, limit);
  }

  /** Every message of the given steps, in order of seq. */
  ofSteps(target: Target, steps: readonly number[]): StagedMessage[] {
    return this.#ofSteps.all({ ...target, steps: JSON.stringify(steps) }).map(stagedMessage);
  }

  /** Every message of a session before a place that is not pinned, in order of seq. */
  ofSession(target: Target, sessionId: string, seqEnd: number): StagedMessage[] {
    return this.#ofSession.all({ ...target, sessionId, seqEnd }).map(stagedMessage);
  }

  /** Messages that are in the forest without a vector although they have a text. */
  *lacking(): Generator<{ id: number; text: string }> {
    yield* this.#lacking.iterate();
  }

  messageCount(): number {
    return this.#messageCount.get()!;
  }

  /** Rows that are there although their generation has come, counted up to a limit: they are to be moved, or deleted. */
  restCount(limit: number): number {
    return this.#rest.get(limit)!;
  }

  /** Vectors of the generation in use come to their messages, at most `limit`. @returns how many. */
  move(limit: number): number {
    const rows = this.#unmoved.all(limit);
    for (const row of rows) {
      this.#move.run(row);
      this.#unstage.run(row);
    }
    return rows.length;
  }

  /** A message has no vector any more. */
  drop(id: number): void {
    this.#drop.run(id);
  }
}

function stagedMessage({ embedding, isMissing, ...row }: StagedRow): StagedMessage {
  return { ...row, embedding: decoded(embedding), isMissing: isMissing === 1 };
}

function decoded(bytes: Buffer | null): Float32Array | null {
  return bytes === null ? null : decodeVector(bytes, bytes.byteLength / Float32Array.BYTES_PER_ELEMENT);
}
