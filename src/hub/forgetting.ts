import type { PoolClient } from "pg";
import { RETENTION_DAYS_MAX } from "./administration.ts";
import type { HubConnection } from "./connection.ts";
import { insertRows, rowsOfSession, type SessionAt, type SessionKey, updateSession } from "./places.ts";
import { changeIndex } from "./word-index.ts";

// Tombstones record what was forgotten, so that no copy brings it back. They hold ids and no text. All of this runs while the row of
// the session is locked.

/** Deletes messages of a session on the hub, and leaves tombstones. */
export async function buryMessages(client: PoolClient, key: SessionKey, messageIds: readonly number[]): Promise<void> {
  const { place, sessionNo } = key;
  const { rows } = await client.query<{ messageId: number; branch: string | null }>(
    'SELECT message_id AS "messageId", branch FROM coppice.delete_messages($1, $2, $3)',
    [place, sessionNo, messageIds],
  );
  const removed = rows.filter(({ branch }) => branch === null).map(({ messageId }) => ({ sessionNo, messageId }));
  await changeIndex(client, key, { added: [], removed });
  await addTombstones(client, key, messageIds);
}

/** Deletes all rows of a session on the hub. Its own row stays and says that it was forgotten. */
export async function burySession(client: PoolClient, key: SessionKey): Promise<void> {
  await emptySession(client, key, "forgotten_at");
  await addTombstones(client, key, [null]);
}

// Others may have set more days by SQL than the server can subtract.
const IS_OVERDUE = `s.pushed_at < now() - make_interval(days => least(p.retention_days, ${RETENTION_DAYS_MAX}))
  AND s.forgotten_at IS NULL AND s.expired_at IS NULL`;

/**
 * Deletes the rows of sessions that were not pushed for as many days as their project is kept. The stores keep them.
 *
 * @returns how many sessions.
 */
export async function expireSessions(connection: HubConnection, signal?: AbortSignal): Promise<number> {
  const { rows: overdue } = await connection.transaction(
    (client) =>
      client.query<SessionKey>(
        `SELECT s.place, s.team, s.session_no AS "sessionNo"
         FROM coppice.places p JOIN coppice.sessions s ON s.place = p.place WHERE ${IS_OVERDUE}`,
      ),
    signal,
  );
  let count = 0;
  for (const key of overdue) {
    const expire = async (client: PoolClient): Promise<number> => {
      // The session may have been pushed in the meantime.
      const { rowCount } = await client.query(
        `SELECT 1 FROM coppice.places p JOIN coppice.sessions s ON s.place = p.place
         WHERE s.place = $1 AND s.session_no = $2 AND ${IS_OVERDUE} FOR UPDATE OF s`,
        [key.place, key.sessionNo],
      );
      if (rowCount === 0) return 0;
      await emptySession(client, key, "expired_at");
      return 1;
    };
    count += await connection.transaction(expire, signal);
  }
  return count;
}

async function emptySession(client: PoolClient, key: SessionKey, since: "forgotten_at" | "expired_at"): Promise<void> {
  const { place, sessionNo } = key;
  await changeIndex(client, key, { added: [], forgottenSessions: [sessionNo] });
  await client.query("SELECT coppice.delete_session($1, $2)", [place, sessionNo]);
  const nothing = {
    message_count: 0,
    last_id: 0,
    head: null,
    shape: null,
    vectors: null,
    marked_id: 0,
    marked_count: 0,
  };
  await updateSession(client, key, { title: null, ...nothing }, `${since} = now()`);
}

/** The ids of a session's messages that were forgotten. */
export async function buriedOnHub(client: PoolClient, key: SessionAt): Promise<Set<number>> {
  const rows = await rowsOfSession<{ id: number }>(
    client,
    key,
    "tombstones",
    "message_id AS id",
    "AND message_id IS NOT NULL",
  );
  return new Set(rows.map(({ id }) => id));
}

/** Numbers are given in the order in which transactions end, because each holds the row of the place until then. */
async function addTombstones(
  client: PoolClient,
  key: SessionKey,
  messageIds: readonly (number | null)[],
): Promise<void> {
  const { place, team, sessionNo } = key;
  const { rows } = await client.query<{ last: number }>(
    "UPDATE coppice.places SET tombstone_count = tombstone_count + $2 WHERE place = $1 RETURNING tombstone_count AS last",
    [place, messageIds.length],
  );
  const first = rows[0]!.last - messageIds.length + 1;
  const tombstones = messageIds.map((messageId, index) => {
    return { place, tombstone_no: first + index, team, session_no: sessionNo, message_id: messageId };
  });
  await insertRows(client, "tombstones", tombstones);
}
