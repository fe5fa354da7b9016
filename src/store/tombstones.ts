import { createHmac, randomBytes } from "node:crypto";
import { and, eq } from "drizzle-orm";
import { OPENING_MESSAGES, type RememberedMessage } from "../core/remembered.ts";
import type { StoreDatabase } from "./open.ts";
import { Repository } from "./repository.ts";
import { messages, tombstones } from "./schema.ts";
import { columns, isAnyOf, type RowOf } from "./statement.ts";
import type { StoreSettingRepository } from "./store-settings.ts";

const KEY_BYTES = 32;
const DIGEST_BYTES = 16;

/** The name of the setting that holds the key, in hex. */
const KEY_SETTING = "tombstoneKey";

const NAMED = columns(messages, "id", "seq", "externalId", "role", "digest");

export type TombstoneRow = typeof tombstones.$inferInsert;

/**
 * The digests by which an import recognizes what was forgotten.
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

  /** Returns the digest of the id of a session in this store. */
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

  /** Returns the digest of the beginning of a session. Copies of a file have the same one, whatever their names are. */
  opening(digests: readonly Buffer[]): Buffer {
    return this.#of("opening", ...digests.map((digest) => digest.toString("hex")));
  }

  content(opening: Buffer, digest: Buffer): Buffer {
    return this.#of("content", opening.toString("hex"), digest.toString("hex"));
  }

  #of(...names: readonly string[]): Buffer {
    return createHmac("sha256", this.#key).update(JSON.stringify(names)).digest().subarray(0, DIGEST_BYTES);
  }
}

export class TombstoneRepository extends Repository {
  // Imports ask these for each session or message.
  readonly #has = this.statement<[digest: Buffer], number>`SELECT 1 FROM tombstones WHERE digest = ?`.pluck();
  readonly #hasMessagesOf = this.statement<[sessionDigest: Buffer], number>`
    SELECT 1 FROM tombstones WHERE session_digest = ? AND message_id IS NOT NULL LIMIT 1`.pluck();
  readonly #hasOpening = this.statement<[openingDigest: Buffer], number>`
    SELECT 1 FROM tombstones WHERE opening_digest = ? LIMIT 1`.pluck();
  readonly #openingOf = this.statement<[sessionDigest: Buffer], Buffer>`
    SELECT opening_digest FROM tombstones WHERE session_digest = ? AND opening_digest IS NOT NULL LIMIT 1`.pluck();
  /** The digests of the first messages of a session: see `OPENING_MESSAGES`. */
  readonly openingMessages = this.statement<[sessionId: string], { seq: number; digest: Buffer }>`
    SELECT seq, digest FROM messages WHERE session_id = ? AND role IN ('user', 'assistant') AND text <> ''
    ORDER BY seq LIMIT ${OPENING_MESSAGES}`.all;
  readonly forgottenBefore = this.statement<[sessionId: string, seq: number], number>`
    SELECT 1 FROM forgotten_messages WHERE session_id = ? AND seq < ? LIMIT 1`.pluck().get;
  readonly named = this.statement<[ids: string], RowOf<typeof NAMED>>`
    SELECT ${NAMED} FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`.all;
  readonly #settings: StoreSettingRepository;

  constructor(database: StoreDatabase, settings: StoreSettingRepository) {
    super(database);
    this.#settings = settings;
  }

  /** The key of the digests in hex; undefined if nothing was ever forgotten. */
  key(): string | undefined {
    const key = this.#settings.get(KEY_SETTING);
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

  /** The rows about a session and its messages. */
  ofSession(sessionId: string): (typeof tombstones.$inferSelect)[] {
    const sessionDigest = this.digests()?.session(sessionId);
    if (sessionDigest === undefined) return [];
    return this.orm.select().from(tombstones).where(eq(tombstones.sessionDigest, sessionDigest)).all();
  }

  /** True if the whole session was forgotten. */
  hasSession(sessionId: string): boolean {
    const sessionDigest = this.digests()?.session(sessionId);
    return sessionDigest !== undefined && this.has(sessionDigest);
  }

  /** Like `digests`, but makes the key of the store if there is none. */
  makeDigests(): TombstoneDigests {
    const known = this.digests();
    if (known !== undefined) return known;
    const key = randomBytes(KEY_BYTES);
    this.#settings.set(KEY_SETTING, key.toString("hex"));
    return new TombstoneDigests(key);
  }

  has(digest: Buffer): boolean {
    return this.#has.get(digest) !== undefined;
  }

  /**
   * Returns a function that tells which messages of a session were forgotten: in this session by their names, and in a session
   * with the same beginning by their content.
   *
   * @param opening  The digests of the first messages in the file. The session may have had fewer of them when something was
   *   forgotten.
   */
  recognizer(sessionId: string, opening: readonly Buffer[]): (message: RememberedMessage) => boolean {
    const digests = this.digests();
    if (digests === undefined) return () => false;
    const isOfSession = this.#hasMessagesOf.get(digests.session(sessionId)) !== undefined;
    const openings = opening
      .map((_, index) => digests.opening(opening.slice(0, index + 1)))
      .filter((digest) => this.#hasOpening.get(digest) !== undefined);
    return ({ name, role, digest }) =>
      (isOfSession && this.has(digests.message(sessionId, name))) ||
      (role !== "system" && openings.some((one) => this.has(digests.content(one, digest()))));
  }

  /** The opening that was noted when something of the session was forgotten first. */
  openingOf(sessionDigest: Buffer): Buffer | undefined {
    return this.#openingOf.get(sessionDigest);
  }

  add(rows: readonly TombstoneRow[]): void {
    for (const row of rows) this.orm.insert(tombstones).values(row).onConflictDoNothing().run();
  }

  /** @returns how many rows were deleted. */
  delete(sessionDigest: Buffer, messageIds: readonly number[] | undefined): number {
    const ofSession = eq(tombstones.sessionDigest, sessionDigest);
    const chosen = messageIds === undefined ? ofSession : and(ofSession, isAnyOf(tombstones.messageId, messageIds));
    return this.orm.delete(tombstones).where(chosen).run().changes;
  }
}
