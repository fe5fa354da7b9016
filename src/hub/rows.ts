import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import type { SessionEvent } from "../session/moving/copies.ts";
import type { HubConnection } from "./connection.ts";
import type { Link } from "./link.ts";
import { eventsOf, HubPath, type LogRow, logPage } from "./log.ts";

export interface SessionRow {
  sessionNo: number;
  origin: string;
  name: string;
  holder: string;
  beganBy: string;
  project: string;
  head: string;
  length: number;
  messageCount: number;
  /** When its last message was appended; null if it has none. */
  lastAtMs: number | null;
  pushedBy: string;
}

/** SQL: the digest of a head, in hexadecimal. */
export const HEAD_DIGEST = "left(encode(sha256(head), 'hex'), 32)";

export const SESSION_COLUMNS = `session_no AS "sessionNo", origin, session_id AS name, holder, began_by AS "beganBy", project, ${HEAD_DIGEST} AS head, length,
  message_count AS "messageCount", last_at_ms AS "lastAtMs", pushed_by AS "pushedBy"`;

/**
 * Yields the events of a session's log from a place on, as many as a push has sent at once. `length` counts all until then.
 *
 * @param until  How many events the session's row says that it has.
 */
export async function* logFrom(
  link: Link,
  { sessionNo, length: until }: Pick<SessionRow, "sessionNo" | "length">,
  from: number,
): AsyncGenerator<{ events: SessionEvent[]; length: number }> {
  for (let next = from; next < until; ) {
    const rows = await link.transaction(async (client) => {
      const first = `coalesce((SELECT max(n) FROM ${link.schema}.log WHERE session_no = $1 AND n <= $2), 0)`;
      const sql = logPage(link.schema, `session_no = $1 AND n < $3 AND n >= ${first}`);
      return (await client.query<LogRow>(sql, [sessionNo, next, until])).rows;
    });
    const before = next;
    for (const { n, body } of rows) {
      if (n > next) break;
      const events = eventsOf(body).slice(next - n, until - n);
      if (events.length === 0) continue;
      next += events.length;
      yield { events, length: next };
    }
    if (next === before)
      throw new StoreError("ROWS_INVALID", { reason: `a row of the log is missing at place ${next}` });
  }
}

/** Reads the row that a session of the store has on the hub. */
export async function rowOf(link: Link, sessionId: string): Promise<SessionRow | undefined> {
  const { origin = link.storeId, name = sessionId } = link.notes(sessionId);
  return link.transaction(async (client) => {
    const sql = `SELECT ${SESSION_COLUMNS} FROM ${link.schema}.sessions WHERE origin = $1 AND session_id = $2`;
    return (await client.query<SessionRow>(sql, [origin, name])).rows[0];
  });
}

/** Reads the whole log of a session. */
export async function pathOnHub(link: Link, row: SessionRow): Promise<HubPath> {
  const path = new HubPath();
  for await (const { events } of logFrom(link, row, 0)) path.add(events);
  return path;
}

/** Returns the lengths of those of some sessions that the hub has, by their numbers. */
export async function lengthsThere(
  client: PoolClient,
  schema: string,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const sql = `SELECT session_no AS "sessionNo", length FROM ${schema}.sessions WHERE session_no = ANY ($1)`;
  const { rows } = await client.query<{ sessionNo: number; length: number }>(sql, [numbers]);
  return new Map(rows.map(({ sessionNo, length }) => [sessionNo, length]));
}

/** A log only grows. Returns an error if the hub has one, and it is shorter than this store has noted. */
export function goneBack(
  { name, schema }: HubConnection,
  sessionId: string,
  found: number | undefined,
  noted = 0,
): StoreError | undefined {
  if (found === undefined || found >= noted) return undefined;
  return new StoreError("HUB_CHANGED", { hub: name, reason: "gone back", schema, sessionId, found, noted });
}
