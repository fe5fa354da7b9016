import { createHash } from "node:crypto";
import { blobOf } from "../sql/codecs.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { PathReader } from "./paths.ts";

const CONTENT = columns(TABLES.messages, "id", "tokenCount", "digest");

/** The messages of a span, without pinned ones. */
export interface SpanContent {
  firstId: number;
  lastId: number;
  messageCount: number;
  tokenCount: number;
  sourceDigest: string;
}

/** Consecutive messages of a session, which one summary of `flat` or `sandwich` may cover. */
export class SpanRepository extends PathReader {
  // Renders and summaries run these.
  readonly #boundsOf = this.statement<
    [id: string, seqFirst: number, seqLast: number],
    Omit<SpanContent, "sourceDigest">
  >`
    SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS messageCount, sum(token_count) AS tokenCount
    FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 GROUP BY session_id`;
  readonly #firstOf = this.statement<[id: string, seqLast: number], number>`
    SELECT id FROM messages WHERE session_id = ? AND seq <= ? AND pinned = 0 ORDER BY seq LIMIT 1`.pluck().get;
  readonly #contentOf = this.statement<[id: string, seqFirst: number, seqLast: number], RowOf<typeof CONTENT>>`
    SELECT ${CONTENT} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`;
  // A table of SQLite's own. Ids rise and are never reused, so a missing id was forgotten if a later id exists.
  /** The unpinned ids from one message to another, one of which may be forgotten, in order. Empty if they are of different sessions. */
  readonly idsBetween = this.statement<{ firstId: number; lastId: number }, number>`
    WITH ends AS (SELECT id, session_id, seq FROM messages WHERE id IN (@firstId, @lastId) ORDER BY id DESC),
    held(session_id, seq_last) AS (
      SELECT session_id, ${Number.MAX_SAFE_INTEGER} FROM (SELECT session_id FROM ends LIMIT 1)
      UNION ALL
      SELECT holder_id, seq_last FROM shared_pasts WHERE session_id = (SELECT session_id FROM ends LIMIT 1)
    )
    SELECT m.id FROM messages m CROSS JOIN held h ON h.session_id = m.session_id AND m.seq <= h.seq_last
    WHERE m.id BETWEEN @firstId AND @lastId AND m.pinned = 0
      AND @lastId <= (SELECT seq FROM sqlite_sequence WHERE name = 'messages')
      AND NOT EXISTS (SELECT 1 FROM ends e WHERE NOT EXISTS (
        SELECT 1 FROM held h WHERE h.session_id = e.session_id AND e.seq <= h.seq_last))
    ORDER BY m.seq`.pluck().all;
  /** `contentOf` without the digest, which takes fewer pages. Undefined if all messages are pinned. */
  boundsOf(sessionId: string, seqFirst: number, seqLast: number): Omit<SpanContent, "sourceDigest"> | undefined {
    const pieces = this.paths.pieces(sessionId, seqFirst, seqLast);
    const found = pieces.flatMap((piece) => this.#boundsOf.get(piece.sessionId, piece.seqFirst, piece.seqLast) ?? []);
    if (found.length < 2) return found[0];
    return {
      firstId: found[0]!.firstId,
      lastId: found.at(-1)!.lastId,
      messageCount: found.reduce((sum, { messageCount }) => sum + messageCount, 0),
      tokenCount: found.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
    };
  }

  /** The id of a session's first message that is not pinned. */
  firstOf(sessionId: string): number | undefined {
    return this.paths.oldest(sessionId, (piece) => this.#firstOf(piece.sessionId, piece.seqLast));
  }

  /** Returns the content between two seqs, both included. The ids are 0 if all messages are pinned. */
  contentOf(sessionId: string, seqFirst: number, seqLast: number): SpanContent {
    const rows = this.paths.pieces(sessionId, seqFirst, seqLast).flatMap((piece) => {
      return this.#contentOf.all(piece.sessionId, piece.seqFirst, piece.seqLast);
    });
    return {
      firstId: rows[0]?.id ?? 0,
      lastId: rows.at(-1)?.id ?? 0,
      messageCount: rows.length,
      tokenCount: rows.reduce((sum, row) => sum + row.tokenCount, 0),
      sourceDigest: sourceDigestOf(rows.map((row) => row.digest)),
    };
  }
}

/** Returns the SHA-256, in hex, of the digests of messages in order of seq. */
export function sourceDigestOf(digests: readonly Buffer[]): string {
  const sources = createHash("sha256");
  for (const digest of digests) sources.update(blobOf(digest));
  return sources.digest("hex");
}
