import { openSync, readSync, statSync } from "node:fs";
import { addTo } from "../../core/groups.ts";
import { Repository } from "../file/repository.ts";
import { decodeValue, type StoredValue } from "../sql/codecs.ts";
import { columns } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

/**
 * A text is looked for in pieces of this many bytes. A shorter one, or one that is little longer, must be there as a whole. Of a long one,
 * every `PIECE_BYTES` a piece is known for each alignment, so that some 67 bytes of it are found.
 */
const PIECE_BYTES = 32;

/** A shorter text is not looked for: everybody says "continue". */
const TEXT_BYTES_MIN = 12;

/** Bytes are compared in windows of this many, at each multiple of `STRIDE_BYTES` of what is searched. */
const WINDOW_BYTES = 8;
const STRIDE_BYTES = 4;

/** How many windows in a row lie in a piece, and all but the first bytes of it. */
const PIECE_WINDOWS = (PIECE_BYTES - WINDOW_BYTES) / STRIDE_BYTES + 1;

/** Of more text than this, in bytes, fewer pieces are known, so that a set of them never becomes too large. */
const FINE_BYTES = 1 << 24;
/** The windows of short texts that are counted. */
const COUNTED_MAX = 1 << 22;

/** From this length on, some piece of a text begins at a multiple of `STRIDE_BYTES`, wherever the text is. */
const LONG_BYTES_MIN = PIECE_BYTES + STRIDE_BYTES - 1;

/** Bits of a filter for each window in it. One in twenty other windows passes. */
const FILTER_BITS = 16;

const CHUNK_BYTES = 1 << 20;

/**
 * Texts to look for in bytes. All windows of the texts are in a filter. So at most places of what is searched, two numbers are read
 * and one bit is looked up.
 */
export class TextPieces {
  /** Keyed by the bytes as Latin-1: many texts, such as the names of tools, are said again and again. */
  readonly #texts = new Map<string, Buffer>();
  #index: PieceIndex | undefined;

  /** Adds a text as JSON writes it, because the store keeps messages as JSON. */
  add(text: string): void {
    const bytes = Buffer.from(JSON.stringify(text).slice(1, -1));
    if (bytes.length < TEXT_BYTES_MIN) return;
    this.#texts.set(bytes.toString("latin1"), bytes);
    this.#index = undefined;
  }

  /** Returns true if the bytes hold some 67 bytes of a text, or all of a shorter one. */
  areIn(bytes: Uint8Array): boolean {
    this.#index ??= new PieceIndex([...this.#texts.values()]);
    return this.#index.areIn(bytes);
  }
}

class PieceIndex {
  readonly #windows: Filter;
  readonly #pieces = new Set<number>();
  readonly #shortWindows: Filter;
  /** Keyed by the hash of a window: the short texts of which it is the rarest at one alignment, and where it is in them. */
  readonly #shorts = new Map<number, { text: Buffer; at: number }[]>();

  constructor(texts: readonly Buffer[]) {
    const lengthOf = (some: readonly Buffer[]): number => some.reduce((sum, { length }) => sum + length, 0);
    const shorts = texts.filter((text) => text.length < LONG_BYTES_MIN);
    this.#windows = new Filter(lengthOf(texts));
    this.#shortWindows = new Filter(STRIDE_BYTES * shorts.length);
    const counts = new Map<number, number>();
    const coarseness = Math.ceil(lengthOf(texts) / FINE_BYTES);
    for (const text of texts) {
      const isLong = text.length >= LONG_BYTES_MIN;
      // A fragment of a text that is hardly longer than a piece has perhaps only one of them.
      const step = coarseness * (text.length < 2 * LONG_BYTES_MIN ? 1 : PIECE_BYTES / STRIDE_BYTES);
      for (const { words } of alignmentsOf(text)) {
        for (let word = 0; word < words.length - 1; word++) {
          const hash = windowAt(words, word);
          this.#windows.add(hash);
          if (!isLong && (counts.size < COUNTED_MAX || counts.has(hash))) counts.set(hash, (counts.get(hash) ?? 0) + 1);
          if (isLong && word % step === 0 && word + PIECE_WINDOWS < words.length)
            this.#pieces.add(pieceAt(words, word));
        }
      }
    }
    // Texts that begin alike, such as ids, are told apart by what is rare in them.
    for (const text of shorts) {
      for (const { words, shift } of alignmentsOf(text)) {
        let rarest = 0;
        const countAt = (word: number): number => counts.get(windowAt(words, word)) ?? 0;
        for (let word = 1; word < words.length - 1; word++) if (countAt(word) < countAt(rarest)) rarest = word;
        if (words.length < 2) continue;
        const hash = windowAt(words, rarest);
        this.#shortWindows.add(hash);
        addTo(this.#shorts, hash, { text, at: shift + rarest * STRIDE_BYTES });
      }
    }
  }

  areIn(bytes: Uint8Array): boolean {
    const words = wordsOf(bytes);
    const shift = words.byteOffset - bytes.byteOffset;
    let first = 0;
    let last = -2;
    for (let word = this.#windows.next(words, 0); word >= 0; word = this.#windows.next(words, word + 1)) {
      if (word !== last + 1) first = word;
      last = word;
      const piece = word - PIECE_WINDOWS + 1;
      if (piece >= first && this.#pieces.has(pieceAt(words, piece))) return true;
      const hash = windowAt(words, word);
      if (this.#shortWindows.has(hash) && this.#isShortAt(bytes, shift + word * STRIDE_BYTES, hash)) return true;
    }
    return false;
  }

  #isShortAt(bytes: Uint8Array, position: number, hash: number): boolean {
    const places = this.#shorts.get(hash) ?? [];
    return places.some(({ text, at }) => {
      const from = position - at;
      return from >= 0 && text.equals(bytes.subarray(from, from + text.length));
    });
  }
}

/** A set of hashes as bits. It may hold others, too. */
class Filter {
  readonly #bits: Uint8Array;
  readonly #shift: number;

  constructor(count: number) {
    const log = Math.min(30, Math.max(10, Math.ceil(Math.log2(count * FILTER_BITS + 1))));
    this.#bits = new Uint8Array(2 ** (log - 3));
    this.#shift = 32 - log;
  }

  add(hash: number): void {
    const bit = hash >>> this.#shift;
    this.#bits[bit >>> 3]! |= 1 << (bit & 7);
  }

  has(hash: number): boolean {
    const bit = hash >>> this.#shift;
    return (this.#bits[bit >>> 3]! & (1 << (bit & 7))) !== 0;
  }

  /** Returns the place of the next window that is in the filter; -1 if none is. */
  next(words: Int32Array, from: number): number {
    const [bits, shift] = [this.#bits, this.#shift];
    for (let at = from; at < words.length - 1; at++) {
      const bit = windowAt(words, at) >>> shift;
      if ((bits[bit >>> 3]! & (1 << (bit & 7))) !== 0) return at;
    }
    return -1;
  }
}

/** Returns the numbers of four bytes in a text for each alignment. */
function alignmentsOf(text: Buffer): { words: Int32Array; shift: number }[] {
  return Array.from({ length: STRIDE_BYTES }, (_, shift) => {
    return { words: wordsOf(Uint8Array.from(text.subarray(shift))), shift };
  });
}

/** Returns the aligned numbers of four bytes in some bytes. */
function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array {
  const skipped = (STRIDE_BYTES - (byteOffset % STRIDE_BYTES)) % STRIDE_BYTES;
  const count = Math.max(0, Math.floor((byteLength - skipped) / STRIDE_BYTES));
  return count === 0 ? new Int32Array() : new Int32Array(buffer, byteOffset + skipped, count);
}

function windowAt(words: Int32Array, at: number): number {
  const mixed = Math.imul(words[at]!, 0x9e3779b1) ^ words[at + 1]!;
  return Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
}

function pieceAt(words: Int32Array, at: number): number {
  let hash = 0;
  for (let word = at; word < at + PIECE_BYTES / STRIDE_BYTES; word++) {
    hash = Math.imul(hash ^ words[word]!, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
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

type SessionText = [sessionId: string, text: Buffer];

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
    SELECT session_id, CAST(parts AS BLOB) FROM messages
    UNION ALL SELECT session_id, CAST(text AS BLOB) FROM summaries WHERE text IS NOT NULL
    UNION ALL SELECT session_id, CAST(label AS BLOB) FROM clusters
    UNION ALL SELECT id, CAST(title AS BLOB) FROM sessions WHERE title IS NOT NULL`.raw();
  /** What programs keep beside the messages of a session. Long values are compressed, so that no search of the file finds them. */
  readonly #compressed = this.statement<[], { sessionId: string } & StoredValue>`
    SELECT ${columns(TABLES.entries, "sessionId", "encoding", "value")} FROM entries WHERE encoding LIKE 'deflated%'
    UNION ALL SELECT ${columns(TABLES.items, "sessionId", "encoding", "value")} FROM items WHERE encoding LIKE 'deflated%' AND session_id IS NOT NULL`;
  readonly #plain = this.statement<[], SessionText>`
    SELECT session_id, CAST(value AS BLOB) FROM entries WHERE encoding NOT LIKE 'deflated%'
    UNION ALL SELECT session_id, CAST(value AS BLOB) FROM items WHERE encoding NOT LIKE 'deflated%' AND session_id IS NOT NULL`.raw();
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
      for (const [sessionId, text] of texts.iterate()) if (pieces.areIn(text)) count(sessionId);
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
  const bytes = Buffer.alloc(CHUNK_BYTES + LONG_BYTES_MIN);
  // Each chunk begins with the end of the one before it.
  for (let position = 0, kept = 0; ; ) {
    const count = readSync(file, bytes, kept, CHUNK_BYTES, position);
    if (count === 0) return false;
    position += count;
    const length = kept + count;
    if (pieces.areIn(bytes.subarray(0, length))) return true;
    kept = Math.min(length, LONG_BYTES_MIN);
    bytes.copyWithin(0, length - kept, length);
  }
}
