import { createHmac, randomBytes } from "node:crypto";
import { addTo } from "../../core/groups.ts";
import { OPENING_MESSAGES, OPENING_MESSAGES_MIN, type RememberedMessage } from "../../core/remembered.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import type { StoreSettingRepository } from "../file/store-settings.ts";
import type { tombstones } from "../sql/schema.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

const KEY_BYTES = 32;
const DIGEST_BYTES = 16;

/** The name of the setting that holds the key, in hex. */
const KEY_SETTING = "tombstoneKey";

const NAMED = columns(TABLES.messages, "id", "seq", "externalId", "createdAtMs");
/** SQL: the bytes of a message's digest. In a damaged row they may have become text, which must not prevent forgetting. */
const DIGEST = "CAST(digest AS BLOB) AS digest";

const TOMBSTONE = columns(TABLES.tombstones);

export type TombstoneRow = Omit<typeof tombstones.$inferInsert, "checksum">;

export interface SaidAt {
  createdAtMs: number;
  digest: Buffer;
}

/**
 * The digests by which imports and `sync` recognize what was forgotten.
 *
 * Each store has a random key, so that no table of known digests tells what a short text was. The key is in the store, because
 * an import must recognize a text by the store alone. Whoever has the file can test a guess of a message, but must also know or
 * guess what the session of the message began with.
 */
export class TombstoneDigests {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  session(id: string): Buffer {
    return this.#of("session", id);
  }

  /** Returns the digest of the name of a session in the program it comes from. */
  origin(source: string, externalId: string): Buffer {
    return this.#of("origin", source, externalId);
  }

  /** @param name  Its external id, or else its seq as `#17`. */
  message(sessionId: string, name: string): Buffer {
    return this.#of("message", sessionId, name);
  }

  /** Returns the digest of a message of a session that a hub has: of several that say the same, it is one. */
  onHub({ origin, name }: { origin: string; name: string }, { createdAtMs, digest }: SaidAt): Buffer {
    return this.#of("hub", origin, name, String(createdAtMs), digest.toString("hex"));
  }

  /** Returns the digest of the beginning of a session. Copies of a file have the same one, whatever their names are. */
  opening(digests: readonly Buffer[]): Buffer {
    return this.#of("beginning", ...hexOf(digests));
  }

  /** Like `opening`, for a session that had no further messages that count. */
  whole(digests: readonly Buffer[]): Buffer {
    return this.#of("whole", ...hexOf(digests));
  }

  /** Like `opening`, for a session whose messages were not all forgotten at once. @param opening  Noted when the first were forgotten. */
  rest(opening: Buffer): Buffer {
    return this.#of("rest", opening.toString("hex"));
  }

  /** Returns the digests by which a copy of a forgotten session is recognized. @param opening  See `OPENING_MESSAGES`. */
  ofForgotten(opening: readonly Buffer[]): Buffer[] {
    const beginnings = beginningsOf(opening).map((beginning) => this.opening(beginning));
    const isWhole = opening.length > 0 && opening.length < OPENING_MESSAGES;
    return isWhole ? [...beginnings, this.whole(opening)] : beginnings;
  }

  /**
   * Returns the digests of the forgotten sessions that a session may be a copy of.
   *
   * @param isEnd  True if the session has no further messages. It may be an older copy of a session that grew.
   */
  ofCopy(opening: readonly Buffer[], isEnd: boolean): Buffer[] {
    const beginnings = beginningsOf(opening);
    const shorter = beginnings.map((beginning) => this.whole(beginning));
    const isWhole = isEnd || opening.length === OPENING_MESSAGES;
    if (!isWhole) return shorter;
    const longer = beginnings.length === 0 ? this.whole(opening) : this.opening(opening);
    const rests = beginnings.slice(0, 1).map((beginning) => this.rest(this.opening(beginning)));
    return [...shorter, longer, ...rests];
  }

  /** Returns the digest of a message wherever it is said again. @param origin  One of its `originKeys`. */
  copy(origin: string, digest: Buffer): Buffer {
    return this.#of("copy", origin, digest.toString("hex"));
  }

  content(opening: Buffer, digest: Buffer): Buffer {
    return this.#of("content", opening.toString("hex"), digest.toString("hex"));
  }

  #of(...names: readonly string[]): Buffer {
    return createHmac("sha256", this.#key).update(JSON.stringify(names)).digest().subarray(0, DIGEST_BYTES);
  }
}

/**
 * Tells which messages of a session were forgotten. Their ids alone do not: two copies of a file give the same id to different
 * messages.
 */
export class ForgottenMessages {
  readonly #digests: TombstoneDigests | undefined;
  readonly #rows = new Map<number, TombstoneRow[]>();

  /** @param key  The key of the rows, in hex. */
  constructor(key: string | null) {
    this.#digests = typeof key !== "string" ? undefined : new TombstoneDigests(Buffer.from(key, "hex"));
  }

  add(row: TombstoneRow): void {
    if (row.messageId == null || !Buffer.isBuffer(row.digest)) return;
    addTo(this.#rows, row.messageId, row);
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  /** @returns undefined if nothing is known of the id. @param content  The digest of the message. */
  has(id: number, content: Buffer): boolean | undefined {
    const rows = this.#rows.get(id);
    if (rows === undefined) return undefined;
    const digests = this.#digests;
    const contents = rows.filter(({ openingDigest }) => Buffer.isBuffer(openingDigest));
    if (digests === undefined || contents.length === 0) return true;
    return contents.some(({ openingDigest, digest }) => digests.content(openingDigest!, content).equals(digest));
  }
}

export class TombstoneRepository extends Repository {
  // Whole rows, so that their checksums are compared and written.
  readonly #add = this.statement<InsertOf<typeof TOMBSTONE>>`${TOMBSTONE.insert()} ON CONFLICT DO NOTHING`;
  readonly #ofSession = this.statement<[sessionDigest: Buffer], RowOf<typeof TOMBSTONE>>`
    SELECT ${TOMBSTONE} FROM tombstones WHERE session_digest = ?`;
  // Imports ask these for each session or message.
  readonly #has = this.statement<[digest: Buffer], number>`SELECT 1 FROM tombstones WHERE digest = ?`.pluck();
  readonly hasAny = this.statement<[], number>`SELECT 1 FROM tombstones LIMIT 1`.pluck().is;
  readonly #hasMessagesOf = this.statement<[sessionDigest: Buffer], number>`
    SELECT 1 FROM tombstones WHERE session_digest = ? AND message_id IS NOT NULL LIMIT 1`.pluck();
  readonly #hasOpening = this.statement<[openingDigest: Buffer], number>`
    SELECT 1 FROM tombstones WHERE opening_digest = ? LIMIT 1`.pluck();
  readonly #openingsOf = this.statement<[sessionDigest: Buffer], Buffer>`
    SELECT DISTINCT opening_digest FROM tombstones WHERE session_digest = ? AND opening_digest IS NOT NULL`.pluck();
  /** The opening that was noted when something of the session was forgotten first. */
  readonly openingOf = this.#openingsOf.get;
  readonly #messageOf = this.statement<[digest: Buffer], number>`
    SELECT message_id FROM tombstones WHERE digest = ? AND message_id IS NOT NULL`.pluck();
  /** The seq of a forgotten message: the last one before it that is stored, and how many were forgotten since. */
  readonly #seqOf = this.statement<{ id: number; sessionId: string; sessionDigest: Buffer }, number>`
    WITH before AS (
      SELECT id, seq FROM messages WHERE session_id = @sessionId AND id < @id ORDER BY seq DESC LIMIT 1
    )
    SELECT coalesce((SELECT seq FROM before), -1) + count(DISTINCT message_id) FROM tombstones
    WHERE session_digest = @sessionDigest AND message_id <= @id
      AND message_id > coalesce((SELECT id FROM before), 0)`.pluck();
  /** The digests of the first messages of a session: see `OPENING_MESSAGES`. */
  readonly openingMessages = this.statement<[sessionId: string], { seq: number; digest: Buffer }>`
    SELECT seq, ${DIGEST} FROM messages WHERE session_id = ? AND role IN ('user', 'assistant') AND text <> ''
    ORDER BY seq LIMIT ${OPENING_MESSAGES}`.all;
  readonly forgottenBefore = this.statement<[sessionId: string, seq: number], number>`
    SELECT 1 FROM forgotten_messages WHERE session_id = ? AND seq < ? LIMIT 1`.pluck().get;
  readonly named = this.statement<[ids: string], RowOf<typeof NAMED> & { digest: Buffer }>`
    SELECT ${NAMED}, ${DIGEST} FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`.all;
  readonly #delete = this.statement<{ sessionDigest: Buffer; messageIds: string | null }>`
    DELETE FROM tombstones WHERE session_digest = @sessionDigest
      AND (@messageIds IS NULL OR message_id IN (SELECT value FROM json_each(@messageIds)))`;
  readonly #settings: StoreSettingRepository;

  constructor(database: StoreDatabase, settings: StoreSettingRepository) {
    super(database);
    this.#settings = settings;
  }

  /** The key of the digests in hex; undefined if nothing was ever forgotten. */
  key(): string | undefined {
    const known = this.#settings.get(KEY_SETTING);
    const key = known === undefined && this.hasAny() ? this.#settings.getAnyway(KEY_SETTING) : known;
    return typeof key === "string" ? key : undefined;
  }

  /** Takes the key of another store, unless there is one. @returns false if the two differ. */
  shareKey(key: string): boolean {
    const own = this.key();
    if (own === undefined) this.#settings.set(KEY_SETTING, key);
    return own === undefined || own === key;
  }

  /** Undefined if nothing was ever forgotten. */
  digests(): TombstoneDigests | undefined {
    const key = this.key();
    return key === undefined ? undefined : new TombstoneDigests(Buffer.from(key, "hex"));
  }

  ofSession(sessionId: string): InsertOf<typeof TOMBSTONE>[] {
    const sessionDigest = this.digests()?.session(sessionId);
    if (sessionDigest === undefined) return [];
    return this.#ofSession.all(sessionDigest).map(({ checksum: _, ...row }) => row);
  }

  hasSession(sessionId: string): boolean {
    const sessionDigest = this.digests()?.session(sessionId);
    return sessionDigest !== undefined && this.has(sessionDigest);
  }

  /** Like `digests`, but makes the key of the store if there is none. */
  makeDigests(): TombstoneDigests {
    const known = this.#settings.getAnyway(KEY_SETTING);
    if (typeof known === "string") return new TombstoneDigests(Buffer.from(known, "hex"));
    const key = randomBytes(KEY_BYTES);
    this.#settings.set(KEY_SETTING, key.toString("hex"));
    return new TombstoneDigests(key);
  }

  has(digest: Buffer): boolean {
    return this.#has.get(digest) !== undefined;
  }

  /**
   * Returns a function that tells which messages of a session were forgotten: in this session by their names, in any session by
   * their content and origin, and in a session with the same beginning by their content.
   *
   * @param opening  The digests of the first messages in the file: see `OPENING_MESSAGES`.
   */
  recognizer(sessionId: string, opening: readonly Buffer[]): (message: RememberedMessage) => boolean {
    const digests = this.digests();
    if (digests === undefined) return () => false;
    const isOfSession = this.#hasMessagesOf.get(digests.session(sessionId)) !== undefined;
    const [beginning] = beginningsOf(opening);
    const known = beginning === undefined ? undefined : digests.opening(beginning);
    const openingDigest = known && this.#hasOpening.get(known) !== undefined ? known : undefined;
    return ({ name, role, digest, origins }) =>
      (isOfSession && this.has(digests.message(sessionId, name))) ||
      this.#hasCopy(digests, origins, digest) ||
      (role !== "system" && openingDigest !== undefined && this.has(digests.content(openingDigest, digest())));
  }

  /** True if a message with this content and one of these origins was forgotten, in any session. */
  hasCopy(origins: readonly string[], digest: () => Buffer): boolean {
    const digests = origins.length === 0 ? undefined : this.digests();
    return digests !== undefined && this.#hasCopy(digests, origins, digest);
  }

  #hasCopy(digests: TombstoneDigests, origins: readonly string[], digest: () => Buffer): boolean {
    return origins.some((origin) => this.has(digests.copy(origin, digest())));
  }

  /** Returns functions that tell if a message with this content, or with this name, was forgotten in a session. */
  recognizersIn(sessionId: string): { hasContent: (digest: Buffer) => boolean; hasName: (name: string) => boolean } {
    const digests = this.digests();
    if (digests === undefined) return { hasContent: () => false, hasName: () => false };
    const openings = this.#openingsOf.all(digests.session(sessionId));
    return {
      hasContent: (digest) => openings.some((opening) => this.has(digests.content(opening, digest))),
      hasName: (name) => this.has(digests.message(sessionId, name)),
    };
  }

  /** Returns the forgotten message of a session that had this external id. */
  forgottenMessage(sessionId: string, externalId: string): { id: number; seq: number } | undefined {
    const digests = this.digests();
    const id = digests && this.#messageOf.get(digests.message(sessionId, externalId));
    if (digests === undefined || id === undefined) return undefined;
    return { id, seq: this.#seqOf.one({ id, sessionId, sessionDigest: digests.session(sessionId) }) };
  }

  /** True if a forgotten session began like this. @param isEnd  See `TombstoneDigests.ofCopy`. */
  hasCopied(opening: readonly Buffer[], isEnd: boolean): boolean {
    const digests = this.digests();
    if (digests === undefined || opening.length === 0) return false;
    return digests.ofCopy(opening, isEnd).some((digest) => this.has(digest));
  }

  /** True if a session with this id was forgotten that began like this. */
  hasForgotten(sessionId: string, opening: readonly Buffer[]): boolean {
    const digests = this.digests();
    return digests !== undefined && this.has(digests.session(sessionId)) && this.hasCopied(opening, true);
  }

  add(rows: readonly TombstoneRow[]): void {
    for (const row of rows) {
      const { openingDigest = null, messageId = null } = row;
      this.#add.run({ ...row, openingDigest, messageId });
    }
  }

  delete(sessionDigest: Buffer, messageIds: readonly number[] | undefined): number {
    const ids = messageIds === undefined ? null : JSON.stringify(messageIds);
    return this.#delete.run({ sessionDigest, messageIds: ids }).changes;
  }
}

/** Returns the beginnings that are long enough to recognize a session by. */
function beginningsOf(opening: readonly Buffer[]): Buffer[][] {
  const lengths = opening.map((_, index) => index + 1).filter((length) => length >= OPENING_MESSAGES_MIN);
  return lengths.map((length) => opening.slice(0, length));
}

function hexOf(digests: readonly Buffer[]): string[] {
  return digests.map((digest) => digest.toString("hex"));
}
