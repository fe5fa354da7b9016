/** SQL: a message of `alias` is what an agent wrote to compact its context. */
export const isSummary = (alias: string): string =>
  `coalesce(instr(${alias}.metadata, '"isCompactSummary":true') > 0, 0)`;

/** SQL: selects the id of the first request of the user. A word alone, such as `shell` or `yes`, is one only if no other comes soon. */
export function openingOf(session: string, seqLast: string): string {
  return `SELECT id FROM (
      SELECT id, seq, text FROM messages
      WHERE session_id = ${session} AND role = 'user' AND text <> '' AND seq <= ${seqLast} AND NOT ${isSummary("messages")}
      ORDER BY seq LIMIT 4)
    ORDER BY text NOT GLOB '*[^!-~]*', seq LIMIT 1`;
}
