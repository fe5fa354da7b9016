import type { GrowingTheme } from "../../forest/growing-forest.ts";
import { decodeVector, encodeVector } from "../../vector/codec.ts";
import { PathReader } from "../facts/paths.ts";
import type { ThemeCheckpoint } from "../sql/schema.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

/** A checkpoint is made each time that this many messages have entered the forest. */
const CHECKPOINT_MESSAGES = 512;

/** So many of the newest checkpoints are kept, and of the others every so many-th. */
const CHECKPOINTS_KEPT = 4;

const MOVE = columns(TABLES.frontierMoves);
const CHECKPOINT = columns(TABLES.themeCheckpoints).without("id");

export type FrontierMove = InsertOf<typeof MOVE>;

/** Where frontiers stood, and checkpoints of themes. Rewinds read them. */
export class FrontierMoveRepository extends PathReader {
  // Moves of the frontier and rewinds run these.
  readonly #put = this.statement<FrontierMove>`${MOVE.upsert()}`;
  readonly #putFirst = this.statement<FrontierMove>`${MOVE.insert()} ON CONFLICT DO NOTHING`;
  readonly #hasMoved = this.statement<[sessionId: string], number>`
    SELECT 1 FROM sessions WHERE id = ? AND graduated_seq > 0`.pluck();
  readonly #at = this.statement<[sessionId: string, seqEnd: number, position: number], FrontierMove>`
    SELECT ${MOVE} FROM frontier_moves WHERE session_id = ? AND seq_end <= ? AND log_position <= ?
    ORDER BY seq_end DESC LIMIT 1`;
  readonly deleteMovesAfter = this.statement<[sessionId: string, seqEnd: number]>`
    DELETE FROM frontier_moves WHERE session_id = ? AND seq_end > ?`.run;
  readonly deleteCheckpoints = this.statement`DELETE FROM theme_checkpoints`.run;
  /** Call it when rows of the log after `position` are changed or taken back. */
  readonly deleteCheckpointsAfter = this.statement<[sessionId: string, position: number]>`
    DELETE FROM theme_checkpoints WHERE session_id = ? AND log_position > ?`.run;
  readonly #deleteCheckpoint = this.statement<[sessionId: string, graduatedSeq: number]>`
    DELETE FROM theme_checkpoints WHERE session_id = ? AND graduated_seq = ?`;
  readonly #checkpoint = this.statement<
    [sessionId: string, position: number],
    RowOf<typeof CHECKPOINT>
  >`SELECT ${CHECKPOINT} FROM theme_checkpoints
    WHERE session_id = ? AND log_position <= ? AND log_position > (SELECT max(log_position) FROM generations)
    ORDER BY log_position DESC LIMIT 1`;
  readonly #graduatedSeqs = this.statement<[sessionId: string], number>`
    SELECT graduated_seq FROM theme_checkpoints WHERE session_id = ? ORDER BY log_position`.pluck();
  readonly #putCheckpoint = this.statement<[Record<string, unknown>]>`${CHECKPOINT.insert()}`.run;
  /** The newest move when a session had at most this many messages; undefined if it was not noted. */
  at(sessionId: string, seqEnd: number): FrontierMove | undefined {
    // A fork may have moved before its first message, and what it shares after the fork began.
    return this.paths.newest(sessionId, ({ sessionId, seqFirst, seqLast, logPosition }) => {
      return seqFirst > seqEnd ? undefined : this.#at.get(sessionId, Math.min(seqLast + 1, seqEnd), logPosition);
    });
  }

  /** Notes the frontier with which a fork begins. */
  begin(move: FrontierMove): void {
    this.#put.run({ ...move });
  }

  note(move: FrontierMove): void {
    const { sessionId } = move;
    if (this.#hasMoved.get(sessionId) === undefined)
      this.#putFirst.run({ sessionId, seqEnd: 0, graduatedSeq: 0, evictedSeq: 0, logPosition: 0 });
    this.#put.run({ ...move });
  }

  /** True if a move past these seqs is due for a checkpoint. */
  isCheckpointDue(graduatedBefore: number, graduatedSeq: number): boolean {
    return Math.floor(graduatedBefore / CHECKPOINT_MESSAGES) < Math.floor(graduatedSeq / CHECKPOINT_MESSAGES);
  }

  /**
   * Keeps all themes of a session as they are at a log position. Of older checkpoints, one in four is kept: a rewind or a fork far
   * back replays the log from there.
   */
  putCheckpoint(sessionId: string, logPosition: number, graduatedSeq: number, themes: readonly GrowingTheme[]): void {
    const kept = themes.map(({ theme, logPosition }): ThemeCheckpoint => {
      const { root, messageCount, tokenCount, vectorCount, seqFirst, seqLast, clusterCount } = theme;
      const sum = encodeVector(theme.sum).toString("base64");
      return { root, messageCount, tokenCount, vectorCount, seqFirst, seqLast, clusterCount, sum, logPosition };
    });
    this.#deleteCheckpoint.run(sessionId, graduatedSeq);
    this.#putCheckpoint(CHECKPOINT.stored({ sessionId, logPosition, graduatedSeq, themes: kept }));
    const newest = ordinalOf(graduatedSeq);
    for (const seq of this.#graduatedSeqs.all(sessionId)) {
      const ordinal = ordinalOf(seq);
      if (newest - ordinal >= CHECKPOINTS_KEPT && ordinal % CHECKPOINTS_KEPT !== 0) {
        this.#deleteCheckpoint.run(sessionId, seq);
      }
    }
  }

  /** The newest checkpoint up to a log position, in the generation in use. */
  checkpoint(sessionId: string, position: number): { logPosition: number; themes: GrowingTheme[] } | undefined {
    const row = this.paths.newest(sessionId, (piece) => {
      return this.#checkpoint.get(piece.sessionId, Math.min(position, piece.logPosition));
    });
    if (row === undefined) return undefined;
    const themes = row.themes.map(({ sum, logPosition, ...counts }): GrowingTheme => {
      const bytes = Buffer.from(sum, "base64");
      const vector = decodeVector(bytes, bytes.byteLength / Float32Array.BYTES_PER_ELEMENT);
      return { theme: { ...counts, sum: vector }, logPosition };
    });
    return { logPosition: row.logPosition, themes };
  }
}

function ordinalOf(graduatedSeq: number): number {
  return Math.floor(graduatedSeq / CHECKPOINT_MESSAGES);
}
