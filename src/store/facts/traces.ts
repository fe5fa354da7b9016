import { openSync, readSync, statSync } from "node:fs";
import { Repository } from "../file/repository.ts";
import { entries, items } from "../sql/schema.ts";
import { columns } from "../sql/statement.ts";
import { decodeValue, type StoredValue } from "../sql/stored-value.ts";

/** A text is looked for in pieces of this many bytes. */
const PIECE_BYTES = 32;

/** A shorter text is looked for as a whole, unless it is shorter than this: everybody says "continue". */
const TEXT_BYTES_MIN = 12;

const CHUNK_BYTES = 1 << 20;

/** Two hashes of a piece: polynomials of its bytes, modulo 2^32. Only the first is computed at every byte of a file. */
const FIRST_BASE = 0x01000193;
const SECOND_BASE = 0x9e3779b1;

const FILTER_BITS = 20;

/** Texts, or pieces of them, as hashes. It says if some bytes have one of them. */
export class TextPieces {
  readonly #ofLength = new Map<number, PiecesOfLength>();

  /** Adds a text as JSON writes it, because the store keeps messages as JSON. */
  add(text: string): void {
    const bytes = Buffer.from(JSON.stringify(text).slice(1, -1));
    if (bytes.length < TEXT_BYTES_MIN) return;
    const length = Math.min(bytes.length, PIECE_BYTES);
    const pieces = this.#ofLength.get(length) ?? new PiecesOfLength(length);
    this.#ofLength.set(length, pieces);
    for (let from = 0; from + length <= bytes.length; from += length) pieces.add(bytes, from);
  }

  areIn(bytes: Uint8Array): boolean {
    return [...this.#ofLength.values()].some((pieces) => pieces.areIn(bytes));
  }
}

class PiecesOfLength {
  readonly #length: number;
  /** `FIRST_BASE` to the power of `#length - 1`, which takes the oldest byte out of a hash. */
  readonly #power: number;
  readonly #hashes = new Set<number>();
  /** A bit for the first bits of each first hash. At most places of a file, nothing else is read. */
  readonly #filter = new Uint8Array(1 << (FILTER_BITS - 3));

  constructor(length: number) {
    this.#length = length;
    this.#power = Array.from({ length: length - 1 }).reduce((power: number) => Math.imul(power, FIRST_BASE), 1);
  }

  add(bytes: Uint8Array, from: number): void {
    const first = this.#hashAt(bytes, from, FIRST_BASE);
    const bit = first >>> (32 - FILTER_BITS);
    this.#filter[bit >>> 3]! |= 1 << (bit & 7);
    this.#hashes.add(joined(first, this.#hashAt(bytes, from, SECOND_BASE)));
  }

  areIn(bytes: Uint8Array): boolean {
    if (bytes.length < this.#length) return false;
    let first = this.#hashAt(bytes, 0, FIRST_BASE);
    for (let from = 0; ; from++) {
      const bit = first >>> (32 - FILTER_BITS);
      const mayBe = (this.#filter[bit >>> 3]! & (1 << (bit & 7))) !== 0;
      if (mayBe && this.#hashes.has(joined(first, this.#hashAt(bytes, from, SECOND_BASE)))) return true;
      const end = from + this.#length;
      if (end === bytes.length) return false;
      first = (Math.imul(first - Math.imul(bytes[from]!, this.#power), FIRST_BASE) + bytes[end]!) | 0;
    }
  }

  #hashAt(bytes: Uint8Array, from: number, base: number): number {
    let hash = 0;
    for (let at = from; at < from + this.#length; at++) hash = (Math.imul(hash, base) + bytes[at]!) | 0;
    return hash;
  }
}

/** Joins a hash and 21 bits of another one: a number of 53 bits. */
function joined(first: number, second: number): number {
  return (first >>> 0) * 2 ** 21 + (second >>> 11);
}

/** What some messages say: texts, and the digests of long strings that are kept apart. */
export interface Traces {
  pieces: TextPieces;
  artifacts: string[];
}

/** A session in which some text was found, and in how many of its messages, summaries and titles. */
export interface HeldText {
  sessionId: string;
  count: number;
}

type SessionText = [sessionId: string, text: string | Buffer];

/** Looks for what is left of forgotten messages. */
export class TraceRepository extends Repository {
  // Whole tables as rows, in order of the file. Damaged rows must not prevent forgetting.
  readonly #partsOf = this.statement<[ids: string], string>`
    SELECT CAST(m.parts AS TEXT) FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value`.pluck();
  readonly #artifactsOf = this.statement<[ids: string], string>`
    SELECT DISTINCT sha256 FROM message_artifacts WHERE message_id IN (SELECT value FROM json_each(?))`.pluck();
  readonly #withArtifacts = this.statement<[digests: string], [sessionId: string, text: null]>`
    SELECT m.session_id, NULL FROM message_artifacts a JOIN messages m ON m.id = a.message_id
    WHERE a.sha256 IN (SELECT value FROM json_each(?))`.raw();
  readonly #texts = this.statement<[], SessionText>`
    SELECT session_id, parts FROM messages
    UNION ALL SELECT session_id, text FROM summaries WHERE text IS NOT NULL
    UNION ALL SELECT session_id, label FROM clusters
    UNION ALL SELECT id, title FROM sessions WHERE title IS NOT NULL`.raw();
  /** What programs keep beside the messages of a session. Long values are compressed, so that no search of the file finds them. */
  readonly #compressed = this.statement<[], { sessionId: string } & StoredValue>`
    SELECT ${columns(entries, "sessionId", "encoding", "value")} FROM entries WHERE encoding LIKE 'deflated%'
    UNION ALL SELECT ${columns(items, "sessionId", "encoding", "value")} FROM items WHERE encoding LIKE 'deflated%' AND session_id IS NOT NULL`;
  readonly #plain = this.statement<[], SessionText>`
    SELECT session_id, value FROM entries WHERE encoding NOT LIKE 'deflated%'
    UNION ALL SELECT session_id, value FROM items WHERE encoding NOT LIKE 'deflated%' AND session_id IS NOT NULL`.raw();
  readonly #ownerOf = this.statement<[sessionId: string], string>`
    SELECT parent_session_id FROM sessions WHERE id = ? AND superseded_at_ms IS NOT NULL`.pluck();

  /** Reads what messages say before they are forgotten. */
  of(ids: readonly number[]): Traces {
    const pieces = new TextPieces();
    const list = JSON.stringify(ids);
    for (const json of this.#partsOf.iterate(list)) addTexts(pieces, parsed(json));
    return { pieces, artifacts: this.#artifactsOf.all(list) };
  }

  /** Returns the sessions that hold some of it, those that hold most first. @param withTexts  False if no text is in the file. */
  holders({ pieces, artifacts }: Traces, withTexts: boolean): HeldText[] {
    const counts = new Map<string, number>();
    const count = (sessionId: string): void => {
      const owner = this.#ownerOf.get(sessionId) ?? sessionId;
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    };
    for (const [sessionId] of this.#withArtifacts.all(JSON.stringify(artifacts))) count(sessionId);
    for (const texts of withTexts ? [this.#texts, this.#plain] : []) {
      for (const [sessionId, text] of texts.iterate()) if (pieces.areIn(Buffer.from(text))) count(sessionId);
    }
    for (const { sessionId, ...stored } of this.#compressed.iterate()) {
      const value = decodeValue(stored);
      if (pieces.areIn(value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value)))) count(sessionId);
    }
    return [...counts]
      .map(([sessionId, count]) => ({ sessionId, count }))
      .sort((left, right) => right.count - left.count || (left.sessionId < right.sessionId ? -1 : 1));
  }
}

function addTexts(pieces: TextPieces, value: unknown): void {
  if (typeof value === "string") pieces.add(value);
  else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) addTexts(pieces, one);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Descriptors of database files, by device and inode. */
const opened = new Map<string, number>();

/**
 * Returns true if the bytes of a file have one of the pieces.
 *
 * The descriptor stays open: on POSIX systems, closing any descriptor of a file releases all locks that this process has on it, and
 * with them those of SQLite.
 */
export function fileHas(path: string, pieces: TextPieces): boolean {
  const { dev, ino } = statSync(path);
  const file = opened.get(`${dev} ${ino}`) ?? openSync(path, "r");
  opened.set(`${dev} ${ino}`, file);
  const bytes = Buffer.alloc(CHUNK_BYTES + PIECE_BYTES - 1);
  // Each chunk begins with the end of the one before it.
  for (let position = 0, kept = 0; ; ) {
    const count = readSync(file, bytes, kept, CHUNK_BYTES, position);
    if (count === 0) return false;
    position += count;
    const length = kept + count;
    if (pieces.areIn(bytes.subarray(0, length))) return true;
    kept = Math.min(length, PIECE_BYTES - 1);
    bytes.copyWithin(0, length - kept, length);
  }
}
