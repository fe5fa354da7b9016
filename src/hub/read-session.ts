import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import { HUB_BODY_BYTES_MAX } from "../core/limits.ts";
import type { Changeable, FactRow, FactTables, RowsOrigin } from "../store/index.ts";
import { buriedOnHub } from "./forgetting.ts";
import type { SessionAt } from "./places.ts";
import { decodeMessage, decodeRows, factsDigestOf, type HubMessage } from "./rows.ts";
import type { Spool } from "./spool.ts";

/** A query returns rows up to these limits, and at least one. */
const PAGE = { count: 250, bytes: 1_000_000 };

/** `embedding` is in base64. */
type HubMessageRow = Omit<HubMessage, "body" | "embedding"> & { embedding: string | undefined };

/** The rows of a session on the hub, which can be read more than once. */
export interface SessionOnHub {
  /** A digest of its facts. */
  factsDigest: string;
  /** The ids of messages that were forgotten on the hub, by whichever store. */
  forgottenIds: ReadonlySet<number>;
  /** Returns its title and its items. */
  changeable(): Changeable;
  /** Yields all facts as `sessionRows` does, in an order that `writeSession` accepts. @throws {StoreError} `ROWS_INVALID`. */
  rows(): Iterable<FactRow>;
}

/**
 * Fetches all rows of a session into a temporary file, so that a long session takes little memory. They are one snapshot if the
 * transaction is REPEATABLE READ, or if it holds the lock of the session.
 *
 * @throws {StoreError} `ROWS_INVALID`.
 */
export async function fetchSession(
  client: PoolClient,
  key: SessionAt,
  sessionId: string,
  spool: Spool,
): Promise<SessionOnHub> {
  const chunks = [];
  const facts = pages<{ kind: string; chunk: number; digest: Buffer }>(client, key, {
    table: "facts",
    keys: ["kind", "chunk"],
    values: ["digest"],
  });
  for await (const { body, ...chunk } of facts) {
    chunks.push(chunk);
    spool.add(`facts ${chunk.kind}`, {}, body);
  }
  const messages = pages<Omit<HubMessage, "body">>(client, key, {
    table: "messages",
    keys: ["message_id"],
    values: ["branch", "seq", "step_id", "turn_seq", "checksum"],
    vector: "embedding",
    // An unfinished push may have sent more.
    condition: "message_id <= (SELECT marked_id FROM coppice.sessions WHERE place = $1 AND session_no = $2)",
  });
  for await (const row of messages) {
    const { body, embedding } = row;
    spool.add("messages", Object.assign(row, { body: undefined, embedding: embedding?.toString("base64") }), body);
  }
  const artifacts = pages<{ sha256: Buffer }>(client, key, { table: "artifacts", keys: ["sha256"], values: [] });
  for await (const { body } of artifacts) spool.add("artifacts", {}, body);
  const forgottenIds = await buriedOnHub(client, key);
  return {
    factsDigest: factsDigestOf(chunks),
    forgottenIds,
    changeable() {
      const [session] = factsOf(spool, "sessions");
      const items = Array.from(factsOf(spool, "items"), ({ row }) => row as FactTables["items"]);
      return { title: (session?.row as Partial<FactTables["sessions"]> | undefined)?.title ?? null, items };
    },
    rows: () => rowsIn(spool, sessionId),
  };
}

interface PagedTable {
  table: string;
  keys: string[];
  values: string[];
  /** A column of vectors. They count as bytes of a page. */
  vector?: string;
  condition?: string;
}

/** Yields the rows of a table that a session has, by their keys. */
async function* pages<Row extends object>(
  client: PoolClient,
  { place, sessionNo }: SessionAt,
  { table, keys, values, vector, condition = "true" }: PagedTable,
): AsyncGenerator<Row & { body: Buffer }> {
  const columns = [...keys, ...values, ...(vector === undefined ? [] : [vector])].join(", ");
  const vectorLength = vector === undefined ? "0" : `coalesce(octet_length(${vector}), 0)`;
  const order = keys.join(", ");
  const after = `(${order}) > (${keys.map((_, index) => `$${index + 3}`).join(", ")})`;
  let last: unknown[] = [];
  for (;;) {
    // Postgres knows the length of a body without reading its bytes.
    const { rows } = await client.query<Row & { body: Buffer | null }>(
      `SELECT ${columns}, CASE WHEN length <= ${HUB_BODY_BYTES_MAX} THEN body END AS body FROM (
         SELECT *, sum(length + vector_length) OVER (ORDER BY ${order}) - length - vector_length AS before FROM (
           SELECT ${columns}, body, octet_length(body) AS length, ${vectorLength} AS vector_length FROM coppice.${table}
           WHERE place = $1 AND session_no = $2 AND ${condition} ${last.length === 0 ? "" : `AND ${after}`}
           ORDER BY ${order} LIMIT ${PAGE.count}) AS page) AS measured
       WHERE before < ${PAGE.bytes} ORDER BY ${order}`,
      [place, sessionNo, ...last],
    );
    for (const row of rows) {
      if (row.body === null)
        throw new StoreError("ROWS_INVALID", { reason: `a row of ${table} on the hub is too long` });
      yield row as Row & { body: Buffer };
    }
    if (rows.length === 0) return;
    last = keys.map((name) => rows.at(-1)![name as keyof Row]);
    // A key that was rounded would return the same page again.
    const isRounded = last.some((key) => typeof key === "number" && !Number.isSafeInteger(key));
    if (isRounded)
      throw new StoreError("ROWS_INVALID", { reason: `a row of ${table} on the hub has a number too high` });
  }
}

const FIRST = ["facts origin", "facts sessions"];

function* rowsIn(spool: Spool, sessionId: string): Generator<FactRow> {
  const [origin] = factsOf(spool, "origin");
  const [session] = factsOf(spool, "sessions");
  if (origin === undefined || (session?.row as { id?: unknown } | undefined)?.id !== sessionId) {
    throw new StoreError("ROWS_INVALID", { reason: `the rows of session "${sessionId}" on the hub are not its own` });
  }
  for (const kind of FIRST) for (const { body } of spool.records(kind)) yield* decodeRows(body);
  yield* messagesOf(spool, sessionId, (origin.row as RowsOrigin).embedderId);
  const isUsed = new Set<unknown>();
  for (const { row } of factsOf(spool, "messageArtifacts")) isUsed.add((row as { sha256?: unknown }).sha256);
  for (const { body } of spool.records("artifacts")) {
    for (const fact of decodeRows(body)) if (fact.table !== "artifacts" || isUsed.has(fact.row.sha256)) yield fact;
  }
  for (const kind of spool.kinds) {
    if (!kind.startsWith("facts ") || FIRST.includes(kind) || kind === "facts vectors") continue;
    for (const { body } of spool.records(kind)) yield* decodeRows(body);
  }
}

/** Version 3 of the tables had vectors among the facts. Both are in the order of their ids. */
function* messagesOf(spool: Spool, sessionId: string, embedderId: string): Generator<FactRow> {
  const vectors = factsOf(spool, "vectors");
  let next = vectors.next();
  for (const message of spool.records<HubMessageRow>("messages")) {
    const idOf = (): unknown => (next.value?.row as { id?: unknown } | undefined)?.id;
    while (!next.done && Number(idOf()) < message.message_id) next = vectors.next();
    const fact = (idOf() === message.message_id ? next.value!.row : {}) as { embedding?: Buffer };
    const embedding = message.embedding === undefined ? fact.embedding : Buffer.from(message.embedding, "base64");
    yield decodeMessage(message, sessionId, embedding && { embedding, embedderId });
  }
}

function* factsOf(spool: Spool, kind: string): Generator<FactRow> {
  for (const { body } of spool.records(`facts ${kind}`)) yield* decodeRows(body);
}
