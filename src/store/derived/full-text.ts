import { DamageError } from "../../core/damage.ts";
import { BRANCHES } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import { blobOf } from "../sql/codecs.ts";
import type { Statement } from "../sql/statement.ts";
import {
  type SearchScope,
  SessionMessages,
  sampleStep,
  scopeCondition,
  sessionCondition,
  withinSessions,
} from "./search-scope.ts";

/** `idsOf` returns the messages of a scope if there are at most this many. Each takes 0.1 µs. */
const SCOPE_IDS_MAX = 5_000;

/** The messages of this many scopes are kept in memory. A large scope takes 16 bytes for each session. */
const SCOPES_KEPT_MAX = 32;

/** Counts of words are kept in memory from this many messages on. Reading a count takes 10 ns for each message. */
const FREQUENCY_KEPT_MIN = 500;

/** If the index has grown or shrunk by this factor, counts are read again. */
const FREQUENCY_CHANGE_MAX = 1.1;

/** The index and its list of words, exactly as the migration creates them. */
export const FULL_TEXT_TABLES: readonly string[] = [
  `CREATE VIRTUAL TABLE messages_fts USING fts5(
  words,
  content = '',
  contentless_delete = 1,
  tokenize = "porter ascii tokenchars './\\:@-_$'"
)`,
  "CREATE VIRTUAL TABLE messages_fts_terms USING fts5vocab(messages_fts, row)",
];

/** The tables in which SQLite keeps the index: https://sqlite.org/fts5.html, section 9. */
const SHADOWS = ["messages_fts_config", "messages_fts_data", "messages_fts_docsize", "messages_fts_idx"];

/** How many numbers of `NumbersById` are in a page. */
const PAGE_IDS = 1 << 14;

type Value = string | number;

/** The name of a message's speaker, if there is one, and its text. */
export interface SearchText {
  id: number;
  text: string;
}

export interface IndexTotals {
  messageCount: number;
  wordCount: number;
}

const SEARCH_TEXT = "CASE WHEN m.name IS NULL THEN m.text ELSE m.name || char(10) || m.text END";
const NEWEST_ID = "SELECT coalesce(max(id), 0) FROM messages_fts_docsize";
/** SQL: the message `m` is on the path of its session. Superseded messages are not in the index. */
const IS_ON_PATH = `m.session_id NOT IN ${BRANCHES}`;
const TAIL = `FROM messages m WHERE m.id > (${NEWEST_ID}) AND ${IS_ON_PATH} ORDER BY m.id`;
const GIVEN = "FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value";

/**
 * Rows of `messages_fts` and its shadow tables. The index has all messages up to its newest one. Later messages are the
 * tail. A damaged index must not prevent opening a store, so nothing is read before it is needed.
 */
export class FullTextRepository extends Repository {
  // Lists are passed as JSON, which is the fastest way to pass many values.
  /** The id of the newest message in the index; 0 if there is none. */
  readonly newestId = this.statement<[], number>`${NEWEST_ID}`.pluck().one;
  readonly tailCount = this.statement<[], number>`
    SELECT count(*) FROM messages m WHERE id > (${NEWEST_ID}) AND ${IS_ON_PATH}`.pluck().one;
  readonly #tail = this.statement<[limit: number], { id: number }>`SELECT m.id ${TAIL} LIMIT ?`;
  /** The whole tail as pairs of id and text, in order. */
  readonly eachOfTail = this.statement<[], [number, string]>`SELECT m.id, ${SEARCH_TEXT} ${TAIL}`.raw().iterate;
  readonly #insert = this.statement<[id: number, words: string]>`INSERT INTO messages_fts (rowid, words) VALUES (?, ?)`;
  readonly #delete = this.statement<[ids: string]>`
    DELETE FROM messages_fts WHERE rowid IN (SELECT value FROM json_each(?))`;
  readonly #merge = this.statement<[pages: number]>`INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)`;
  readonly #changes = this.statement<[], number>`SELECT total_changes()`.pluck();
  readonly #averages = this.statement<[], Buffer>`SELECT block FROM messages_fts_data WHERE id = 1`.pluck();
  readonly #count = this.statement<[], number>`SELECT count(*) FROM messages_fts_docsize`.pluck();
  readonly #ids = this.statement<[], string>`SELECT json_group_array(id) FROM messages_fts_docsize`.pluck();
  // Looks up one message after each multiple, because reading them all would take 25 ns for each.
  readonly #sampledIds = this.statement<[{ step: number }], string>`
    WITH RECURSIVE sampled(id) AS (
      SELECT min(id) FROM messages_fts_docsize
      UNION ALL
      SELECT (SELECT min(id) FROM messages_fts_docsize WHERE id >= (sampled.id / @step + 1) * @step)
      FROM sampled WHERE sampled.id IS NOT NULL
    )
    SELECT json_group_array(id) FROM sampled WHERE id IS NOT NULL`.pluck();
  readonly #frequency = this.statement<[stem: string], number>`
    SELECT doc FROM messages_fts_terms WHERE term = ?`.pluck();
  readonly #stemsFrom = this.statement<[from: string, to: string, limit: number], string>`
    SELECT term FROM messages_fts_terms WHERE term >= ? AND term < ? LIMIT ?`.pluck();
  readonly anyWord = this.statement<[], string>`SELECT term FROM messages_fts_terms LIMIT 1`.pluck().get;
  /** Counts messages that are neither in the index nor in its tail. */
  readonly missingCount = this.statement<[], number>`
    SELECT count(*) FROM messages m
    WHERE id <= (${NEWEST_ID}) AND id NOT IN (SELECT id FROM messages_fts_docsize) AND ${IS_ON_PATH}`.pluck().one;
  readonly orphanCount = this.statement<[], number>`
    SELECT count(*) FROM messages_fts_docsize WHERE id NOT IN (SELECT id FROM messages)`.pluck().one;
  readonly #wordCounts = this.statement<[afterId: number, limit: number], SearchText & { sz: Buffer }>`
    SELECT m.id, ${SEARCH_TEXT} AS text, coalesce(CAST(d.sz AS BLOB), x'') AS sz FROM messages_fts_docsize d JOIN messages m ON m.id = d.id
    WHERE d.id > ? ORDER BY d.id LIMIT ?`.map(({ sz, ...row }) => ({ ...row, wordCount: varintsOf(sz)[0] ?? 0 }));
  // As rows, the occurrences would take four times longer than as one JSON text.
  readonly #occurrences = this.statement<[stem: string], string>`
    SELECT json_group_array(doc) FROM temp.messages_fts_occurrences WHERE term = ?`.pluck();
  readonly #sizes = this.statement<[ids: string], [ids: string, sizes: string | null]>`
    SELECT json_group_array(d.id), group_concat(hex(d.sz), '')
    FROM json_each(?) given CROSS JOIN messages_fts_docsize d ON d.id = given.value`.raw();
  readonly #texts = this.statement<[ids: string], SearchText>`
    SELECT m.id, ${SEARCH_TEXT} AS text ${GIVEN} ORDER BY given.key`;
  readonly #idsOfSessions = this.statement<[sessionIds: string], string>`
    SELECT json_group_array(m.id) FROM json_each(?) given CROSS JOIN messages m ON m.session_id = given.value`.pluck();

  readonly #database: StoreDatabase;
  readonly #scoped = new Map<string, Statement<Value[], unknown>>();
  /** Keyed by stem: how many messages hold it. */
  readonly #frequencies = new Map<string, number>();
  /** The number of indexed messages when the first of these frequencies was read. */
  #frequenciesOf = 0;
  /** The messages of each scope, as of one state of the store. */
  readonly #knownOfScopes = { state: "", byScope: new Map<string, unknown>() };
  /** The number of words by message id; 0 if it was not read. It never changes, because ids are not used twice. */
  #lengths = new NumbersById();

  constructor(database: StoreDatabase) {
    super(database);
    this.#database = database;
  }

  /** Returns the ids of the oldest messages of the tail. @throws {DamageError} if a damaged table has them in another order. */
  tail(limit: number): number[] {
    return rising(this.newestId(), this.#tail.all(limit)).map(({ id }) => id);
  }

  /** Returns indexed messages after `afterId`, with their numbers of words. @throws {DamageError} as `tail` does. */
  wordCounts(afterId: number, limit: number): (SearchText & { wordCount: number })[] {
    return rising(afterId, this.#wordCounts.all(afterId, limit));
  }

  insert(id: number, words: readonly string[]): void {
    this.#insert.run(id, words.join(" "));
  }

  delete(ids: readonly number[]): void {
    this.#delete.run(JSON.stringify(ids));
    this.#frequencies.clear();
  }

  /**
   * Makes the index empty, even if it is damaged. Its pages are not freed, because a damaged one may name pages of other tables; the
   * next VACUUM frees them. Earlier changes of the index in the same transaction must have been made with `tried`.
   */
  clear(): void {
    const { client } = this.#database;
    const names = [...SHADOWS, "messages_fts_terms", "messages_fts"].map((name) => `'${name}'`);
    client.unsafeMode(true); // otherwise the schema cannot be written
    try {
      client.pragma("writable_schema = ON");
      try {
        client.exec(`DELETE FROM sqlite_schema WHERE name IN (${names})`);
      } finally {
        client.pragma("writable_schema = RESET");
      }
      for (const sql of FULL_TEXT_TABLES) client.exec(sql);
    } finally {
      client.unsafeMode(false);
    }
    this.#frequencies.clear();
    this.#lengths = new NumbersById();
  }

  /**
   * Merges parts of the index, which removes the words of deleted messages.
   *
   * @param pages  About how many pages of 4 KB are written. A negative number begins to merge all parts into one; a
   * positive number continues.
   * @returns false if there was nothing to merge.
   */
  merge(pages: number): boolean {
    const before = this.#changes.one();
    this.#merge.run(pages);
    // The statement itself counts as one change: https://sqlite.org/fts5.html, 6.8.
    return this.#changes.one() - before > 1;
  }

  /** Runs a change in a savepoint. If it fails, SQLite forgets what it has not written of it, so that `clear` may follow. */
  tried<T>(change: () => T): T {
    return this.#database.client.transaction(change)();
  }

  /** Counts the indexed messages. Drops frequencies that are too old. */
  messageCount(): number {
    const messageCount = this.#kept("count", [], this.#count.one);
    this.#freshen(messageCount);
    return messageCount;
  }

  /** Counts the indexed messages and their words. Of more than 5,000 messages, the words are estimated from a sample. */
  totals(): IndexTotals {
    const messageCount = this.messageCount();
    const sample = this.#kept("words", [], () =>
      this.#countWords(
        messageCount <= SCOPE_IDS_MAX ? this.#ids.one() : this.#sampledIds.one({ step: sampleStep(messageCount) }),
      ),
    );
    return { messageCount, wordCount: (sample.wordCount * messageCount) / Math.max(1, sample.messageCount) };
  }

  /**
   * Returns what is wrong with the number of messages that the index claims to hold; undefined if nothing is. It may claim more than
   * there are, because SQLite before 3.54 does not subtract deleted ones. SQLite 3.54 does, and stores in which an earlier Coppice
   * subtracted them, too, claim fewer. Then SQLite may refuse to delete a message.
   */
  wrongClaim(): string | undefined {
    // "The averages record" of fts5_index.c: the number of rows, then for each column its number of words.
    const [claimed = 0] = varintsOf(blobOf(this.#averages.get() ?? Buffer.alloc(0)));
    const found = this.#count.one();
    return claimed < found ? `claims to hold ${claimed} messages, but holds ${found}` : undefined;
  }

  /** Drops frequencies that are too old. Another process may also have changed the index. */
  #freshen(messageCount: number): void {
    const change = messageCount / this.#frequenciesOf;
    if (change <= FREQUENCY_CHANGE_MAX && change >= 1 / FREQUENCY_CHANGE_MAX) return;
    this.#frequencies.clear();
    this.#frequenciesOf = messageCount;
  }

  /** Returns how many indexed messages hold a stem. The number may be off by a tenth. */
  frequencyOf(stem: string): number {
    const known = this.#frequencies.get(stem);
    if (known !== undefined) return known;
    const count = this.#frequency.get(stem) ?? 0;
    if (count >= FREQUENCY_KEPT_MIN) this.#frequencies.set(stem, count);
    return count;
  }

  /** Returns indexed stems that have a beginning. */
  stemsFrom(beginning: string, limit: number): string[] {
    return this.#stemsFrom.all(beginning, `${beginning}\u{10ffff}`, limit);
  }

  /** Returns the ids of indexed messages that hold a stem, in order, once for each occurrence. Each takes 0.1 µs. */
  occurrences(stem: string): number[] {
    // A temporary table can be created by a reader. It is lost if its transaction is rolled back.
    this.#database.client.exec(
      "CREATE VIRTUAL TABLE IF NOT EXISTS temp.messages_fts_occurrences USING fts5vocab(main, messages_fts, instance)",
    );
    return JSON.parse(this.#occurrences.one(stem)) as number[];
  }

  /** Returns how many words each message has in the index. The first read of a message takes 0.3 µs. */
  lengthsOf(ids: readonly number[]): number[] {
    const unread = ids.filter((id) => this.#lengths.get(id) === 0);
    if (unread.length > 0) this.#readLengths(unread);
    return ids.map((id) => this.#lengths.get(id));
  }

  #readLengths(ids: readonly number[]): void {
    const [found, sizes] = this.#sizes.one(JSON.stringify(ids));
    const lengths = varintsOf(Buffer.from(sizes ?? "", "hex"));
    for (const [index, id] of (JSON.parse(found) as number[]).entries()) this.#lengths.set(id, lengths[index]!);
    const missing = ids.find((id) => this.#lengths.get(id) === 0);
    if (missing === undefined) return;
    throw new DamageError(`the full-text index holds words of message ${missing}, but not their number`);
  }

  /** Yields the id and text of indexed messages of a scope that match an FTS5 expression, newest first. */
  matching(expression: string, scope: SearchScope, limit: number): IterableIterator<[number, string]> {
    const { sql, values } = scopeCondition(scope);
    return this.#scopedStatement<[number, string]>(
      `SELECT m.id, ${SEARCH_TEXT} FROM messages_fts f JOIN messages m ON m.id = f.rowid
       WHERE f.messages_fts MATCH ? ${sql === "" ? "" : `AND ${sql}`} ORDER BY f.rowid DESC LIMIT ?`,
    ).iterate(expression, ...values, limit);
  }

  /** Yields the id and text of the messages of a scope, newest first. */
  newest(scope: SearchScope, limit: number): IterableIterator<[number, string]> {
    const { sql, values } = scopeCondition(scope);
    return this.#scopedStatement<[number, string]>(
      `SELECT m.id, ${SEARCH_TEXT} FROM messages m
       WHERE ${IS_ON_PATH} ${sql === "" ? "" : `AND ${sql}`} ORDER BY m.id DESC LIMIT ?`,
    ).iterate(...values, limit);
  }

  /**
   * Returns those of some messages of a scope's sessions that are in the scope, in the given order. Ids that have no message stay:
   * reading them fails.
   */
  inScope(ids: readonly number[], scope: SearchScope): number[] {
    const { sql, values } = scopeCondition(withinSessions(scope));
    if (sql === "" || ids.length === 0) return [...ids];
    const inScope = this.#scopedStatement<[number]>(
      `SELECT given.value FROM json_each(?) given LEFT JOIN messages m ON m.id = given.value
       WHERE m.id IS NULL OR (${sql}) ORDER BY given.key`,
    );
    return inScope.all(JSON.stringify(ids), ...values).map(([id]) => id);
  }

  texts(ids: readonly number[]): IterableIterator<SearchText> {
    return this.#texts.iterate(JSON.stringify(ids));
  }

  /** Returns the ids of the messages of a scope's sessions; undefined if they are many, or if the scope is the whole store. */
  idsOf(scope: SearchScope): readonly number[] | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    const few = `SELECT m.id FROM messages m WHERE ${sql} LIMIT ${SCOPE_IDS_MAX + 1}`;
    const all = `SELECT json_group_array(id) FROM (${few})`;
    return this.#kept(all, values, () => {
      const [list] = this.#scopedStatement<[string]>(all).one(...values);
      const ids = JSON.parse(list) as number[];
      return ids.length > SCOPE_IDS_MAX ? undefined : ids;
    });
  }

  /** Returns the messages of a scope's sessions, however many; undefined if the scope is the whole store. */
  messagesOf(scope: SearchScope): SessionMessages | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    return this.#kept(sql, values, () =>
      scope.shared === undefined ? this.#readMessagesOf(sql, values) : this.#readSharedOf(sql, values),
    );
  }

  /**
   * Counts the indexed messages of a scope's sessions, and their words. Of more than 5,000 messages, a sample is counted: those whose
   * ids are multiples of `sampleStep`.
   */
  wordsOf(scope: SearchScope): IndexTotals {
    const { sql, values } = sessionCondition(scope);
    return this.#kept(`words ${sql}`, values, () => {
      const sessions = this.idsOf(scope) === undefined ? this.messagesOf(scope)! : undefined;
      const ids = sessions === undefined ? this.idsOf(scope)! : sessions.multiplesOf(sampleStep(sessions.span));
      return this.#countWords(JSON.stringify(ids));
    });
  }

  /** Counts those of some messages that are indexed, and their words. @param ids  As JSON. */
  #countWords(ids: string): IndexTotals {
    const [, sizes] = this.#sizes.one(ids);
    const counts = varintsOf(Buffer.from(sizes ?? "", "hex"));
    return { messageCount: counts.length, wordCount: counts.reduce((sum, count) => sum + count, 0) };
  }

  #readSharedOf(sql: string, values: Value[]): SessionMessages {
    const all = this.#scopedStatement<[string]>(`SELECT json_group_array(m.id) FROM messages m WHERE ${sql}`);
    const ids = JSON.parse(all.one(...values)[0]) as number[];
    return new SessionMessages([], new Set(ids), ids.length);
  }

  /** Returns what an earlier call read for a scope. If anyone has written since, reads it again. */
  #kept<T>(sql: string, values: Value[], read: () => T): T {
    const state = `${this.#database.dataVersion()} ${this.#changes.one()}`;
    const known = this.#knownOfScopes;
    if (known.state !== state || known.byScope.size === SCOPES_KEPT_MAX) {
      known.state = state;
      known.byScope.clear();
    }
    const key = JSON.stringify([sql, values]);
    if (!known.byScope.has(key)) known.byScope.set(key, read());
    return known.byScope.get(key) as T;
  }

  /** A session whose messages have consecutive ids takes two lookups, or 3 µs. */
  #readMessagesOf(sql: string, values: Value[]): SessionMessages {
    // Ids rise at least as fast as seqs. So if both distances are equal, no other session's message is in between.
    const sessions = this.#scopedStatement<
      [id: string, firstId: number, lastId: number, isRange: number, span: number]
    >(
      `SELECT s.id, m.id, z.id, z.id - m.id = z.seq - m.seq, z.seq - m.seq + 1
       FROM sessions s
       CROSS JOIN messages m ON m.session_id = s.id AND m.seq = (SELECT min(seq) FROM messages WHERE session_id = s.id)
       CROSS JOIN messages z ON z.session_id = s.id AND z.seq = (SELECT max(seq) FROM messages WHERE session_id = s.id)
       WHERE ${sql} ORDER BY m.id`,
    ).all(...values);
    const ranges = sessions.filter(([, , , isRange]) => isRange === 1).map(([, first, last]) => [first, last] as const);
    const others = sessions.filter(([, , , isRange]) => isRange === 0).map(([id]) => id);
    const ids = others.length === 0 ? [] : (JSON.parse(this.#idsOfSessions.one(JSON.stringify(others))) as number[]);
    const span = sessions.reduce((sum, [, , , , own]) => sum + own, 0);
    return new SessionMessages(ranges, new Set(ids), span);
  }

  /** A statement with a scope in it, and rows as lists. Each set of filters is compiled once. */
  #scopedStatement<Row>(sql: string): Statement<Value[], Row> {
    let scoped = this.#scoped.get(sql);
    if (scoped === undefined) {
      scoped = this.statement<Value[], unknown>`${sql}`.raw();
      this.#scoped.set(sql, scoped);
    }
    return scoped as Statement<Value[], Row>;
  }
}

/** Numbers by message id, each 4 bytes. They are kept in pages, because the ids of different id blocks are far apart. */
class NumbersById {
  readonly #pages = new Map<number, Uint32Array>();
  /** The page that was used last, because ids come in order. */
  #page: Uint32Array = new Uint32Array();
  #pageNumber = -1;

  /** Returns 0 for an id that was never set. */
  get(id: number): number {
    return this.#pageOf(id)[id % PAGE_IDS]!;
  }

  set(id: number, value: number): void {
    this.#pageOf(id)[id % PAGE_IDS] = value;
  }

  #pageOf(id: number): Uint32Array {
    const number = Math.floor(id / PAGE_IDS);
    if (number === this.#pageNumber) return this.#page;
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = new Uint32Array(PAGE_IDS);
      this.#pages.set(number, page);
    }
    this.#page = page;
    this.#pageNumber = number;
    return page;
  }
}

/** Decodes SQLite's varints: 7 bits in each byte, highest first. All bytes except the last have the top bit set. */
function varintsOf(bytes: Buffer): number[] {
  const values: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 127);
    if (byte >= 128) continue;
    values.push(value);
    value = 0;
  }
  return values;
}

/**
 * Returns rows whose ids rise. A table whose pages were swapped may return the same rows again and again, and a loop that reads on
 * from the last id would not end.
 *
 * @throws {DamageError} if the ids do not rise from `afterId`.
 */
function rising<Row extends { id: number }>(afterId: number, rows: Row[]): Row[] {
  let before = afterId;
  for (const { id } of rows) {
    if (id <= before) throw new DamageError(`the messages after ${afterId} are not in the order of their ids`);
    before = id;
  }
  return rows;
}
