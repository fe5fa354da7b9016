import { createHash } from "node:crypto";
import { and, between, eq } from "drizzle-orm";
import { Repository } from "./repository.ts";
import { messages } from "./schema.ts";

/** The messages of a span, without pinned ones. */
export interface SpanContent {
  firstId: number;
  lastId: number;
  messageCount: number;
  tokenCount: number;
  sourceDigest: string;
}

/** Consecutive messages of a session, which one summary of `flat` or `sandwich` may cover. */
export class SpanRepository extends Repository {
  // Renders run it.
  /** `contentOf` without the digest, which takes fewer pages. Undefined if all messages are pinned. */
  readonly boundsOf = this.statement<
    [id: string, seqFirst: number, seqLast: number],
    Omit<SpanContent, "sourceDigest">
  >`
    SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS messageCount, sum(token_count) AS tokenCount
    FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 GROUP BY session_id`.get;
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

  /** Returns the content between two seqs, both included. The ids are 0 if all messages are pinned. */
  contentOf(sessionId: string, seqFirst: number, seqLast: number): SpanContent {
    const { id, tokenCount, digest, seq, pinned } = messages;
    const isInside = and(eq(messages.sessionId, sessionId), between(seq, seqFirst, seqLast), eq(pinned, false));
    const rows = this.orm.select({ id, tokenCount, digest }).from(messages).where(isInside).orderBy(seq).all();
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
  for (const digest of digests) sources.update(digest);
  return sources.digest("hex");
}
