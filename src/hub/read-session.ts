import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import type { FactRow, RowsOrigin } from "../store/fact-rows.ts";
import type { SessionKey } from "./places.ts";
import { decodeMessage, decodeRows, type HubMessage } from "./rows.ts";

/**
 * Returns all facts of a session on the hub as `sessionRows` would give them, in an order that `writeSession` takes. They are of one
 * moment if the transaction is REPEATABLE READ.
 *
 * @throws {StoreError} `ROWS_INVALID`.
 */
export async function readSession(
  client: PoolClient,
  { place, sessionNo }: Pick<SessionKey, "place" | "sessionNo">,
  sessionId: string,
): Promise<FactRow[]> {
  const values = [place, sessionNo];
  const chunks = await client.query<{ kind: string; body: Buffer }>(
    "SELECT kind, body FROM coppice.facts WHERE place = $1 AND session_no = $2 ORDER BY kind, chunk",
    values,
  );
  const messages = await client.query<HubMessage>(
    `SELECT m.message_id, m.branch, m.seq, m.step_id, m.turn_seq, m.checksum, m.body
     FROM coppice.sessions s JOIN coppice.messages m ON m.place = s.place AND m.session_no = s.session_no
     WHERE s.place = $1 AND s.session_no = $2 AND m.message_id <= s.marked_id ORDER BY m.message_id`,
    values,
  );
  const artifacts = await client.query<{ body: Buffer }>(
    "SELECT body FROM coppice.artifacts WHERE place = $1 AND session_no = $2 ORDER BY sha256",
    values,
  );
  const facts = chunks.rows.flatMap(({ body }) => decodeRows(body));
  // A push that is under way has sent more.
  const isUsed = new Set(facts.flatMap((fact) => (fact.table === "messageArtifacts" ? fact.row.sha256 : [])));
  const isOf = (table: string) => (fact: FactRow) => fact.table === table;
  const origin = facts.find(isOf("origin"))?.row as RowsOrigin | undefined;
  const found = (facts.find(isOf("sessions"))?.row as { id?: unknown } | undefined)?.id;
  if (origin === undefined || found !== sessionId) {
    throw new StoreError("ROWS_INVALID", { reason: `the rows of session "${sessionId}" on the hub are not its own` });
  }
  const vectors = new Map(
    facts.filter(isOf("vectors")).map(({ row }) => {
      const { id, embedding } = row as unknown as { id: number; embedding: Buffer };
      return [id, { embedding, embedderId: origin.embedderId }];
    }),
  );
  return [
    ...facts.filter(isOf("origin")),
    ...facts.filter(isOf("sessions")),
    ...messages.rows.map((row) => decodeMessage(row, sessionId, vectors.get(row.message_id))),
    ...artifacts.rows
      .flatMap(({ body }) => decodeRows(body))
      .filter((fact) => fact.table !== "artifacts" || isUsed.has(fact.row.sha256)),
    ...facts.filter(({ table }) => !["origin", "sessions", "vectors"].includes(table)),
  ];
}
