import type { Role } from "../../core/message.ts";
import { encodeEmbedding } from "../../vector/codec.ts";
import { isRepeated, isSummary, tellerOf, toldOf } from "../facts/conditions.ts";
import { GENERATION_NOW, IS_UNMOVED } from "../facts/generations.ts";
import { ENTERING_TEXT_CHARS, GRADUATING, type GraduatingMessage } from "../facts/messages.ts";
import { IS_SESSION } from "../facts/paths.ts";
import { Repository } from "../file/repository.ts";
import { isOfStep } from "../sql/message-columns.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

export interface Target {
  generation: number;
  embedderId: string;
}

export interface UnstagedMessage {
  id: number;
  text: string;
  /** True if the target's embedder has made the vector that is stored. */
  hasVector: boolean;
  isGraduated: boolean;
}

export interface StagedMessage extends GraduatingMessage {
  /** True if the message has a text and no staged vector. */
  isMissing: boolean;
}

const STAGED = columns(TABLES.reembeddedVectors, "embedding").of("r");
const MESSAGE = GRADUATING.of("m");
type StagedRow = RowOf<typeof MESSAGE> &
  RowOf<typeof STAGED> & { teller: Role; told: string; isMissing: number; isSummary: number; isRepeated: number };
type TargetMessage = Target & { messageId: number };

const IS_GRADUATED = `(m.pinned = 0 AND m.seq < s.graduated_seq AND s.${IS_SESSION})`;
const IS_OF_TARGET = "r.generation = @generation AND r.embedder_id = @embedderId";
const IS_UNSTAGED = `m.text <> '' AND NOT EXISTS (
  SELECT 1 FROM reembedded_vectors r WHERE ${IS_OF_TARGET} AND r.message_id = m.id)`;

const IS_MISSING = "m.text <> '' AND r.message_id IS NULL AS isMissing";
const JOIN_STAGED = `LEFT JOIN reembedded_vectors r ON ${IS_OF_TARGET} AND r.message_id = m.id`;

const TARGET_MESSAGE = columns(TABLES.reembeddedVectors, "generation", "embedderId", "messageId").of("r");
const FOLLOWED = columns(TABLES.unions, "sessionId", "kind", "node", "root");

export type FollowedRow = RowOf<typeof FOLLOWED> & { position: number; kind: "start" | "join" | "settle" };

/** Rows of `reembedded_vectors`, and the messages and log rows that the next generation grows from. */
export class ReembeddingRepository extends Repository {
  // Hot: reembed runs these for every message, some of them while other writers wait.
  readonly #unstaged = this.statement<
    Target & { after: number; limit: number },
    { id: number; text: string; hasVector: number; isGraduated: number }
  >`SELECT m.id, m.text, m.embedding IS NOT NULL AND m.embedder_id = @embedderId AS hasVector,
      ${IS_GRADUATED} AS isGraduated
    FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.id > @after AND ${IS_UNSTAGED} ORDER BY m.id LIMIT @limit`;
  // The stored bytes are copied, because a vector that is decoded and encoded again may differ in its last bit.
  readonly #stage = this.statement<TargetMessage & { embedding: Buffer | null }>`
    INSERT INTO reembedded_vectors (generation, embedder_id, message_id, embedding)
    SELECT @generation, @embedderId, id, coalesce(@embedding, CASE WHEN embedder_id = @embedderId THEN embedding END)
    FROM messages WHERE id = @messageId ON CONFLICT DO NOTHING`;
  readonly #unmoved = this.statement<[limit: number], TargetMessage>`
    SELECT ${TARGET_MESSAGE} FROM reembedded_vectors r WHERE ${IS_UNMOVED} LIMIT ?`;
  readonly #move = this.statement<TargetMessage>`
    UPDATE messages SET (embedding, embedder_id) = (
      SELECT r.embedding, CASE WHEN r.embedding IS NOT NULL THEN r.embedder_id END
      FROM reembedded_vectors r WHERE ${IS_OF_TARGET} AND r.message_id = @messageId)
    WHERE id = @messageId`;
  readonly #unstage = this.statement<TargetMessage>`
    DELETE FROM reembedded_vectors AS r WHERE ${IS_OF_TARGET} AND r.message_id = @messageId`;
  readonly drop = this.statement<[messageId: number]>`
    UPDATE messages SET embedding = NULL, embedder_id = NULL WHERE id = ?`.run;
  readonly #ofSteps = this.statement<Target & { steps: string }, StagedRow>`
    SELECT ${MESSAGE}, ${tellerOf("m")} AS teller, ${toldOf("m", ENTERING_TEXT_CHARS)} AS told, ${isSummary("m")} AS isSummary, ${isRepeated("m")} AS isRepeated, ${STAGED}, ${IS_MISSING} FROM json_each(@steps) step
    CROSS JOIN messages m ON ${isOfStep("step.value")}
    ${JOIN_STAGED} ORDER BY m.seq`.map(stagedMessage);
  /** Starts, joins and settles of all sessions after a position of the log in use, in order. */
  readonly followed = this.statement<[position: number, limit: number], FollowedRow>`
    SELECT id AS position, ${FOLLOWED} FROM unions NOT INDEXED
    WHERE id > ? AND level = 'cluster' AND generation = ${GENERATION_NOW} ORDER BY id LIMIT ?`.all;
  /** The rows up to a position that a fork shares. */
  readonly followedBy = this.statement<
    { forkId: string; from: number; to: number; limit: number },
    Omit<FollowedRow, "sessionId">
  >`
    SELECT u.id AS position, ${FOLLOWED.without("sessionId").of("u")}
    FROM shared_pasts p JOIN unions u ON u.session_id = p.holder_id AND u.id <= p.log_position
    WHERE p.session_id = @forkId AND u.id > @from AND u.id <= @to AND u.level = 'cluster' AND u.generation = ${GENERATION_NOW}
    ORDER BY u.id LIMIT @limit`.all;
  /** Messages of the forest that have a text and no vector. */
  readonly lacking = this.statement<[], { id: number; text: string }>`
    SELECT m.id, m.text FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.text <> '' AND m.embedding IS NULL AND ${IS_GRADUATED}`.iterate;
  /** Messages whose vectors are neither staged nor stored, and the bytes of their texts in UTF-8. */
  readonly unstagedCount = this.statement<Target, { messageCount: number; byteLength: number }>`
    SELECT count(*) AS messageCount, coalesce(sum(octet_length(m.text)), 0) AS byteLength
    FROM messages m WHERE ${IS_UNSTAGED} AND (m.embedding IS NULL OR m.embedder_id <> @embedderId)`.one;
  readonly messageCount = this.statement<[], number>`SELECT count(*) FROM messages`.pluck().one;
  readonly #leftover = this.statement<[], number>`
    SELECT 1 FROM reembedded_vectors WHERE generation <= ${GENERATION_NOW} LIMIT 1`.pluck();
  /** Deletes vectors that no generation will use. @returns how many, at most `limit`. */
  readonly deleteWaste = this.statement<[limit: number]>`
    DELETE FROM reembedded_vectors WHERE rowid IN (
      SELECT r.rowid FROM reembedded_vectors r
      WHERE generation < ${GENERATION_NOW} OR (generation = ${GENERATION_NOW} AND NOT (${IS_UNMOVED})) LIMIT ?)`
    .changes;

  /** Returns the first messages after an id that have a text and no staged vector. */
  unstaged(target: Target, after: number, limit: number): UnstagedMessage[] {
    const rows = this.#unstaged.all({ ...target, after, limit });
    return rows.map((row) => ({ ...row, hasVector: row.hasVector === 1, isGraduated: row.isGraduated === 1 }));
  }

  /**
   * Stages a vector; if none is given, the stored one, if the target's embedder has made it.
   *
   * @returns false if another process was faster, or if the message was forgotten.
   */
  stage(target: Target, messageId: number, embedding: Float32Array | undefined): boolean {
    const bytes = embedding === undefined ? null : encodeEmbedding(embedding);
    return this.#stage.run({ ...target, messageId, embedding: bytes }).changes > 0;
  }

  ofSteps(target: Target, steps: readonly number[]): StagedMessage[] {
    return this.#ofSteps.all({ ...target, steps: JSON.stringify(steps) });
  }

  /** Returns true if a vector of the generation in use, or of an older one, is still staged. */
  hasLeftover(): boolean {
    return this.#leftover.get() !== undefined;
  }

  /** Moves vectors of the generation in use to their messages. @returns how many, at most `limit`. */
  move(limit: number): number {
    const rows = this.#unmoved.all(limit);
    for (const row of rows) {
      this.#move.run(row);
      this.#unstage.run(row);
    }
    return rows.length;
  }
}

function stagedMessage({ isMissing, ...row }: StagedRow): StagedMessage {
  return { ...row, isMissing: isMissing === 1 };
}
