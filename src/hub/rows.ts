import { createHash, hash } from "node:crypto";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { StoreError } from "../core/errors.ts";
import { HUB_BODY_BYTES_MAX } from "../core/limits.ts";
import type { Role } from "../core/message.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { type FactRow, type FactTables, type MessagePlace, rowOfText, rowText } from "../store/index.ts";

// What the bytes on the hub mean. The first byte of a body says its form.

/** Deflated lines of JSON, each a row as in a file of rows. */
const DEFLATED_ROWS = 1;

/** Rows of one kind in a chunk, and the length of their texts unless one row is longer. A changed row sends its chunk again. */
const CHUNK = { rows: 128, length: 4_000_000 };

const DIGEST_BYTES = 16;

/** Roles are numbers on the hub, in this order. */
export const ROLES: readonly Role[] = ["system", "user", "assistant", "tool"];

type MessageRow = FactTables["messages"];

/** The columns of a message that a rewind may change. They are columns of the hub, and not in the body. */
const PLACE_COLUMNS = ["sessionId", "seq", "stepId", "turnSeq", "checksum"] as const;

export interface HubMessage {
  message_id: number;
  branch: string | null;
  seq: number;
  step_id: number;
  turn_seq: number;
  role: number;
  pinned: boolean;
  token_count: number;
  created_at_ms: number;
  digest: Buffer;
  checksum: number | null;
  body: Buffer;
  embedding: Buffer | null;
}

/**
 * The vector of the local embedder is not sent, because the embedder makes it again. The text is what searches show. Whoever pulls the
 * message derives it from its parts; deflated beside them, it takes few bytes.
 */
export function encodeMessage(row: MessageRow & { text: string }, sessionId: string): HubMessage {
  const { embedding, text, ...content } = row;
  const isMadeAgain = row.embedderId === hashingEmbedder.id;
  const vectorCrc = embedding && isMadeAgain ? crc32(embedding) : undefined;
  for (const column of PLACE_COLUMNS) delete (content as Partial<MessageRow>)[column];
  return {
    message_id: row.id,
    ...placeOf({ ...row, seal: row.checksum }, sessionId),
    role: ROLES.indexOf(row.role as Role),
    pinned: row.pinned === 1,
    token_count: row.tokenCount,
    created_at_ms: row.createdAtMs,
    digest: row.digest,
    body: encodeRows([
      { table: "messages", row: { ...content, vectorCrc } },
      { table: "texts", row: { text } },
    ] as FactRow[]),
    embedding: isMadeAgain ? null : (embedding as Buffer | null),
  };
}

/** @param vector  What the hub has; undefined if the embedder makes it again. @throws {StoreError} `ROWS_INVALID`. */
export function decodeMessage(
  hub: Pick<HubMessage, "message_id" | "branch" | "seq" | "step_id" | "turn_seq" | "checksum" | "body">,
  sessionId: string,
  vector: { embedding: Buffer; embedderId: string } | undefined,
): FactRow {
  const row = decodeRows(hub.body)[0]!.row as MessageRow;
  // In place: V8 keeps a class for each copy that gains columns.
  Object.assign(row, {
    id: hub.message_id,
    sessionId: hub.branch ?? sessionId,
    ...{ seq: hub.seq, stepId: hub.step_id, turnSeq: hub.turn_seq, checksum: hub.checksum },
    embedding: vector?.embedding,
  });
  if (vector !== undefined) row.embedderId = vector.embedderId;
  return { table: "messages", row };
}

/** Returns the columns of the hub that say where a message is. */
export function placeOf(
  row: Pick<MessagePlace, "sessionId" | "seq" | "stepId" | "turnSeq" | "seal">,
  sessionId: string,
): Pick<HubMessage, "branch" | "seq" | "step_id" | "turn_seq" | "checksum"> {
  const branch = row.sessionId === sessionId ? null : row.sessionId;
  return { branch, seq: row.seq, step_id: row.stepId, turn_seq: row.turnSeq, checksum: row.seal };
}

export function encodeRows(rows: readonly FactRow[]): Buffer {
  return encodeLines(rows.map(rowText).join("\n"));
}

/** @param text  Rows as lines. */
export function encodeLines(text: string): Buffer {
  return Buffer.concat([Buffer.of(DEFLATED_ROWS), deflateRawSync(text)]);
}

/** @throws {StoreError} `ROWS_INVALID`. */
export function decodeRows(body: Buffer): FactRow[] {
  return linesOf(body).map(rowOfText);
}

/** Returns the text of a message. @throws {StoreError} `ROWS_INVALID`. */
export function textOf(body: Buffer): string {
  const { text } = rowOfText(linesOf(body).at(-1)!).row as unknown as { text?: unknown };
  if (typeof text !== "string") throw new StoreError("ROWS_INVALID", { reason: "a message has no text" });
  return text;
}

/** Returns what a search needs of a message. @throws {StoreError} `ROWS_INVALID`. */
export function wordsOf(body: Buffer): { name: string | null; parts: string; text: string } {
  const { name = null, parts } = decodeRows(body)[0]!.row as MessageRow;
  if ((name !== null && typeof name !== "string") || typeof parts !== "string") {
    throw new StoreError("ROWS_INVALID", { reason: "a message has no parts" });
  }
  return { name, parts, text: textOf(body) };
}

function linesOf(body: Buffer): string[] {
  const invalid = (reason: string): never => {
    throw new StoreError("ROWS_INVALID", { reason });
  };
  if (body[0] !== DEFLATED_ROWS) invalid(`this version does not know the form ${body[0]} of a row on the hub`);
  try {
    return inflateRawSync(body.subarray(1), { maxOutputLength: HUB_BODY_BYTES_MAX }).toString().split("\n");
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    return invalid(
      isTooLong ? `a row on the hub has more than ${HUB_BODY_BYTES_MAX} bytes` : "a row on the hub is damaged",
    );
  }
}

/** A chunk on the hub, without its rows. */
export interface KnownChunk {
  kind: string;
  chunk: number;
  digest: Buffer;
}

interface Chunk extends KnownChunk {
  /** The rows as lines. */
  text: string;
}

/** Divides facts into chunks, so that only what has changed is sent. */
export function chunksOf(facts: Iterable<FactRow>): Chunk[] {
  const byKind = new Map<string, string[][]>();
  let length = 0;
  for (const fact of facts) {
    const chunks = byKind.get(fact.table) ?? [];
    byKind.set(fact.table, chunks);
    const [line, last] = [rowText(fact), chunks.at(-1)];
    if (last === undefined || last.length === CHUNK.rows || length + line.length > CHUNK.length) {
      chunks.push([line]);
      length = line.length;
    } else {
      last.push(line);
      length += line.length;
    }
  }
  return [...byKind].flatMap(([kind, chunks]) =>
    chunks.map((lines, chunk) => {
      const text = lines.join("\n");
      return { kind, chunk, digest: digestOf(text), text };
    }),
  );
}

/** A digest of all facts of a session. Version 3 of the tables had vectors among them, which stores now compare apart. */
export function factsDigestOf(chunks: readonly KnownChunk[]): string {
  const facts = chunks.filter(({ kind }) => kind !== "vectors");
  const names = facts.map(({ kind, chunk, digest }) => `${kind} ${chunk} ${digest.toString("hex")}`);
  return digestOf(names.sort().join("\n")).toString("hex");
}

/** A digest of what messages say, in order of their ids. */
export class HeadDigest {
  readonly #digest = createHash("sha256");

  add({ id, digest }: Pick<MessagePlace, "id" | "digest">): void {
    this.#digest.update(`${id} `).update(digest);
  }

  /** The digest of what was added until now. */
  value(): Buffer {
    return this.#digest.copy().digest().subarray(0, DIGEST_BYTES);
  }
}

export function headOf(places: readonly Pick<MessagePlace, "id" | "digest">[]): Buffer {
  const head = new HeadDigest();
  for (const place of places) head.add(place);
  return head.value();
}

/** Returns a digest of where messages are. */
export function shapeOf(places: readonly MessagePlace[], sessionId: string): Buffer {
  return digestOf(JSON.stringify(places.map((place) => [place.id, Object.values(placeOf(place, sessionId))])));
}

export function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer").subarray(0, DIGEST_BYTES);
}
