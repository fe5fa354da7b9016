import { crc32 } from "node:zlib";
import { HubConnection } from "../../src/hub/connection.ts";
import { fetchSession } from "../../src/hub/read-session.ts";
import { Spool } from "../../src/hub/spool.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf } from "../../src/store/changes/id-blocks.ts";
import type { FactRow } from "../../src/store/facts/fact-rows.ts";
import { rowText } from "../../src/store/moves/row-text.ts";
import { sessionRows } from "../../src/store/moves/session-rows.ts";

/** The facts of a session on the hub, as lines. */
export async function factsOnHub(url: string, sessionId: string, origin: string): Promise<string[]> {
  const hub = await HubConnection.to(url);
  const spool = new Spool(":memory:");
  try {
    return await hub.transaction(async (client) => {
      const { rows } = await client.query<{ place: number; sessionNo: number }>(
        'SELECT place, session_no AS "sessionNo" FROM coppice.sessions WHERE session_id = $1 AND origin = $2',
        [sessionId, origin],
      );
      if (rows.length === 0) return [];
      const { rows: facts } = await fetchSession(client, rows[0]!, sessionId, spool);
      return Array.from(facts(), lineOf).sort();
    });
  } finally {
    spool.close();
    await hub.close();
  }
}

/** The facts of a session in a store, as lines. */
export function factsInStore(store: Store, sessionId: string): string[] {
  const { repositories } = internalsOf(store);
  const storeId = storeIdOf(repositories);
  return repositories.database.read(() => Array.from(sessionRows(repositories, sessionId, storeId), lineOf)).sort();
}

/** The local embedder makes vectors again, so a row has the checksum in place of its vector. */
function lineOf({ table, row }: FactRow): string {
  if (table !== "messages") return rowText({ table, row } as FactRow);
  const { embedding, vectorCrc, ...content } = row;
  const isLocal = row.embedderId?.startsWith("hashing") === true;
  const crc = embedding && isLocal ? crc32(embedding) : vectorCrc;
  const sorted = Object.fromEntries(Object.entries(content).sort(([one], [other]) => (one < other ? -1 : 1)));
  return rowText({ table, row: { ...sorted, vectorCrc: crc, ...(!isLocal && embedding && { embedding }) } } as FactRow);
}
