import type { PoolClient } from "pg";
import * as z from "zod/mini";
import { mayHaveArtifacts, putBack } from "../core/artifacts.ts";
import { StoreError } from "../core/errors.ts";
import { EXPAND_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { type JsonValue, type Message, messageSchemas, type Part, type Role } from "../core/message.ts";
import { once } from "../core/once.ts";
import { type FieldsOf, parseOptions, text, whole } from "../core/schema.ts";
import type { FactRow, FactTables } from "../store/index.ts";
import { rowsOfSession, type SessionAt } from "./places.ts";
import { decodeMessage, decodeRows, type HubMessage, textOf } from "./rows.ts";

export interface HubExpandOptions {
  /** The most messages to return: 0 to 10,000, by default 50. */
  limit?: number;
  /** Messages of the session to skip; by default those before the page that shows the message in its middle. */
  offset?: number;
  /** Only this project. Sessions of other projects are not found. */
  project?: string;
}

/** Messages of a session on the hub. */
export interface HubExpansion {
  sessionId: string;
  /** The id of the store in which the session began. */
  store: string;
  /** The messages exactly as they were appended, in order. Superseded ones are left out. */
  members: Message[];
  /** How many messages of the session readers see. */
  memberCount: number;
  /** How many messages come before these. */
  offset: number;
}

const hubExpandSchema = once(() =>
  z.strictObject({
    limit: z._default(whole(0, PAGE_LIMIT_MAX), EXPAND_LIMIT_DEFAULT),
    offset: z.optional(whole(0)),
    project: z.optional(text()),
  } satisfies FieldsOf<HubExpandOptions>),
);

/** SQL: the messages of the path of a session, up to the one that readers see. */
const VISIBLE = `coppice.messages m WHERE m.place = $1 AND m.session_no = $2 AND m.branch IS NULL AND m.message_id <= $3`;

/** Reads the messages around one. @throws {StoreError} `MESSAGE_NOT_FOUND`, `OPTION_INVALID`, `ROWS_INVALID`. */
export async function expandOnHub(
  client: PoolClient,
  { hubSession, messageId }: { hubSession: number; messageId: number },
  options: HubExpandOptions,
): Promise<HubExpansion> {
  const { limit, offset: asked, project } = parseOptions("hub.expand", hubExpandSchema(), options);
  const sessions = await client.query<{ place: number; sessionId: string; store: string; markedId: number }>(
    `SELECT s.place, s.session_id AS "sessionId", s.origin AS store, s.marked_id AS "markedId"
     FROM coppice.places p JOIN coppice.sessions s ON s.place = p.place AND s.session_no = $1
     WHERE $2::text IS NULL OR p.project = $2`,
    [hubSession, project ?? null],
  );
  const [session] = sessions.rows;
  if (session === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const { place, sessionId, store, markedId } = session;
  const key = [place, hubSession, markedId];
  const found = await client.query<{ seq: number }>(`SELECT m.seq FROM ${VISIBLE} AND m.message_id = $4`, [
    ...[...key, messageId],
  ]);
  if (found.rows.length === 0) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const counts = await client.query<{ memberCount: number; before: number }>(
    `SELECT count(*) AS "memberCount", count(*) FILTER (WHERE m.seq < $4) AS before FROM ${VISIBLE}`,
    [...key, found.rows[0]!.seq],
  );
  const { memberCount, before } = counts.rows[0]!;
  const offset = asked ?? Math.max(0, before - Math.floor(limit / 2));
  const { rows } = await client.query<HubMessage>(
    `SELECT m.message_id, m.branch, m.seq, m.step_id, m.turn_seq, m.checksum, m.body
     FROM ${VISIBLE} ORDER BY m.seq LIMIT $4 OFFSET $5`,
    [...key, limit, offset],
  );
  const decoded = rows.map((row) => ({
    row: decodeMessage(row, sessionId, undefined).row as FactTables["messages"],
    text: textOf(row.body),
  }));
  const long = decoded.flatMap(({ row }) => (mayHaveArtifacts(String(row.parts)) ? row.id : []));
  const strings =
    long.length > 0 ? await longStringsOf(client, { place, sessionNo: hubSession }, new Set(long)) : new Map();
  const members = decoded.map(({ row, text }) => messageOf(row, text, strings));
  return { sessionId, store, members, memberCount, offset };
}

type LongString = FactTables["artifacts"] & { pointer: string };

/** The long strings of messages of a session, by their ids. */
async function longStringsOf(
  client: PoolClient,
  key: SessionAt,
  messageIds: ReadonlySet<number>,
): Promise<Map<number, LongString[]>> {
  const bodies = async (table: string, condition: string, ...values: unknown[]): Promise<FactRow["row"][]> => {
    const rows = await rowsOfSession<{ body: Buffer }>(client, key, table, "body", `AND ${condition}`, ...values);
    return rows.flatMap(({ body }) => decodeRows(body).map(({ row }) => row));
  };
  const all = (await bodies("facts", "kind = 'messageArtifacts'")) as FactTables["messageArtifacts"][];
  const links = all.filter(({ messageId }) => messageIds.has(messageId));
  const digests = links.map(({ sha256 }) => Buffer.from(String(sha256), "hex"));
  const contents = (await bodies("artifacts", "sha256 = ANY ($3::bytea[])", digests)) as FactTables["artifacts"][];
  const bySha256 = new Map(contents.map((row) => [row.sha256, row]));
  const found = new Map<number, LongString[]>();
  for (const { messageId, pointer, sha256 } of links) {
    const content = bySha256.get(sha256);
    if (content !== undefined) found.set(messageId, [...(found.get(messageId) ?? []), { ...content, pointer }]);
  }
  return found;
}

/** @throws {StoreError} `ROWS_INVALID` if a colleague's program has written something else. */
function messageOf(row: FactTables["messages"], text: string, strings: ReadonlyMap<number, LongString[]>): Message {
  const invalid = (): never => {
    throw new StoreError("ROWS_INVALID", { reason: `message ${row.id} on the hub is damaged` });
  };
  try {
    const parts = JSON.parse(row.parts) as Part[];
    for (const { pointer, ...artifact } of strings.get(row.id) ?? []) {
      putBack(parts, pointer, { ...artifact, compressed: artifact.compressed === 1 }, invalid);
    }
    const { role, name, externalId, metadata: json } = row;
    const metadata = json === null ? undefined : (JSON.parse(json) as Record<string, JsonValue>);
    if (!z.safeParse(messageSchemas().message, { role, parts }).success) invalid();
    return {
      ...{ id: row.id, sessionId: row.sessionId, seq: row.seq, stepId: row.stepId, turnSeq: row.turnSeq },
      ...{ role: role as Role, parts, text, tokenCount: row.tokenCount, createdAtMs: row.createdAtMs },
      pinned: row.pinned === 1,
      ...(name !== null && { name }),
      ...(externalId !== null && { externalId }),
      ...(metadata !== undefined && { metadata }),
    };
  } catch {
    return invalid();
  }
}
