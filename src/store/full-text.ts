import type Database from "better-sqlite3";
import { StoreError } from "../core/errors.ts";
import type { StoreDatabase } from "./open.ts";
import { Repository } from "./repository.ts";
import { type SearchScope, SessionMessages, scopeCondition, sessionCondition } from "./search-scope.ts";
import type { Statement } from "./statement.ts";

/** The most messages of a scope that are read as a list of ids first. Each takes a tenth of a microsecond. */
const SCOPE_IDS_MAX = 5_000;

/** The fewest messages a word must occur in for its count to be kept in memory. Reading the count takes 10 ns for each. */
const FREQUENCY_KEPT_MIN = 500;

/** The growth of the index after which counts are read again. */
const FREQUENCY_GROWTH_MAX = 1.1;

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

type Value = string | number;

/** The part of a message that is indexed: its speaker's name, if it has one, and its text. */
export interface SearchText {
  id: number;
  text: string;
}

/** The totals of the index that BM25 needs. */
export interface IndexTotals {
  messageCount: number;
  /** The words of all messages. */
  wordCount: number;
}

const SEARCH_TEXT = "CASE WHEN m.name IS NULL THEN m.text ELSE m.name || char(10) || m.text END";
const NEWEST_ID = "SELECT coalesce(max(id), 0) FROM messages_fts_docsize";
const TAIL = `FROM messages m WHERE m.id > (${NEWEST_ID}) ORDER BY m.id`;
const GIVEN = "FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value";
const SIZES = "coalesce(group_concat(hex(sz), ''), '') FROM messages_fts_docsize";

/**
 * Rows of `messages_fts` and its shadow tables. The index has all messages up to its newest one; the newer ones are the tail.
 *
 * A damaged index must not keep a store from being opened, so nothing here runs before it is needed.
 */
export class FullTextRepository extends Repository {
  // FTS5, its tables, and lists as JSON, which are also the fastest way to hand over many values.
  /** The newest message in the index; 0 if there is none. */
  readonly newestId = this.statement<[], number>`${NEWEST_ID}`.pluck().one;
  readonly tailCount = this.statement<[], number>`
    SELECT count(*) FROM messages WHERE id > (${NEWEST_ID})`.pluck().one;
  /** The oldest messages of the tail. */
  readonly tail = this.statement<[limit: number], SearchText>`SELECT m.id, ${SEARCH_TEXT} AS text ${TAIL} LIMIT ?`.all;
  /** The whole tail, as pairs of id and text, in order. */
  readonly eachOfTail = this.statement<[], [number, string]>`SELECT m.id, ${SEARCH_TEXT} ${TAIL}`.raw().iterate;
  readonly #insert = this.statement<[id: number, words: string]>`INSERT INTO messages_fts (rowid, words) VALUES (?, ?)`;
  readonly #sizesOf = this.statement<[ids: string], string>`
    SELECT ${SIZES} WHERE id IN (SELECT value FROM json_each(?))`.pluck();
  readonly #delete = this.statement<[ids: string]>`
    DELETE FROM messages_fts WHERE rowid IN (SELECT value FROM json_each(?))`;
  readonly #merge = this.statement<[pages: number]>`INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)`;
  readonly #changes = this.statement<[], number>`SELECT total_changes()`.pluck();
  readonly #averages = this.statement<[], Buffer>`SELECT block FROM messages_fts_data WHERE id = 1`.pluck();
  readonly #setAverages = this.statement<[block: Buffer]>`UPDATE messages_fts_data SET block = ? WHERE id = 1`;
  readonly #frequency = this.statement<[stem: string], number>`
    SELECT doc FROM messages_fts_terms WHERE term = ?`.pluck();
  /** A word of the index; undefined if it has none. */
  readonly anyWord = this.statement<[], string>`SELECT term FROM messages_fts_terms LIMIT 1`.pluck().get;
  /** The number of messages that are neither in the index nor in its tail. */
  readonly missingCount = this.statement<[], number>`
    SELECT count(*) FROM messages
    WHERE id <= (${NEWEST_ID}) AND id NOT IN (SELECT id FROM messages_fts_docsize)`.pluck().one;
  /** The number of indexed messages that do not exist. */
  readonly strangerCount = this.statement<[], number>`
    SELECT count(*) FROM messages_fts_docsize WHERE id NOT IN (SELECT id FROM messages)`.pluck().one;
  readonly #countedTotals = this.statement<[], [messageCount: number, sizes: string]>`SELECT count(*), ${SIZES}`.raw();
  /** Indexed messages after `afterId`, with the number of words that each has in the index. */
  readonly wordCounts = this.statement<[afterId: number, limit: number], SearchText & { sz: Buffer }>`
    SELECT m.id, ${SEARCH_TEXT} AS text, d.sz FROM messages_fts_docsize d JOIN messages m ON m.id = d.id
    WHERE d.id > ? ORDER BY d.id LIMIT ?`.map(({ sz, ...row }) => ({ ...row, wordCount: varintsOf(sz)[0] ?? 0 })).all;
  // One JSON text: as rows, the occurrences would take four times as long.
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
  /** The number of messages that hold a stem, by stem. */
  readonly #frequencies = new Map<string, number>();
  /** The state of the index when the first of the frequencies was read. */
  #frequenciesOf = { messageCount: 0, dataVersion: -1 };
  /** The number of words of each message by id; 0 if it was not read yet. Ids are not used twice, so it never changes. */
  #lengths = new Uint32Array();

  constructor(database: StoreDatabase) {
    super(database);
    this.#database = database;
  }

  insert(id: number, words: readonly string[]): void {
    this.#insert.run(id, words.join(" "));
  }

  delete(ids: readonly number[]): void {
    const list = JSON.stringify(ids);
    const { messageCount, wordCount } = this.totals();
    const deleted = varintsOf(Buffer.from(this.#sizesOf.one(list), "hex"));
    const left = deleted.reduce((sum, count) => sum - count, wordCount);
    // SQLite does not correct the totals. Its first change in a transaction reads them into memory, so they are written before.
    this.#setTotals({ messageCount: messageCount - deleted.length, wordCount: left });
    this.#delete.run(list);
    this.#frequencies.clear();
  }

  /**
   * Creates the index again, empty, even if it is damaged. SQLite does not drop an index that it cannot open, and it opens none
   * without a table that says its version.
   */
  clear(): void {
    const { client } = this.#database;
    withShadowTables(client, () => {
      client.exec(
        `DROP TABLE IF EXISTS messages_fts_config;
         CREATE TABLE messages_fts_config(k PRIMARY KEY, v) WITHOUT ROWID;
         INSERT INTO messages_fts_config VALUES ('version', 4);
         DROP TABLE IF EXISTS messages_fts_terms;
         DROP TABLE IF EXISTS messages_fts;`,
      );
      for (const table of SHADOWS) client.exec(`DROP TABLE IF EXISTS ${table}`);
      for (const sql of FULL_TEXT_TABLES) client.exec(sql);
    });
    this.#frequencies.clear();
    this.#lengths = new Uint32Array();
  }

  /**
   * Merges parts of the index, which drops the words of deleted messages.
   *
   * @param pages  About how many pages of 4 KB are written. A negative number begins to merge all parts into one, and a
   *   positive one goes on with it.
   * @returns false if there was nothing to merge.
   */
  merge(pages: number): boolean {
    const before = this.#changes.one();
    this.#merge.run(pages);
    // The statement itself counts as one change: https://sqlite.org/fts5.html, 6.8.
    return this.#changes.one() - before > 1;
  }

  /** @throws {StoreError} `STORE_CORRUPT` if the totals cannot be those of the index. */
  totals(): IndexTotals {
    // "The averages record" of fts5_index.c: the number of rows, then for each column the number of its words.
    const block = this.#averages.get() ?? Buffer.alloc(0);
    const isEmpty = this.newestId() === 0;
    const [messageCount, wordCount, ...others] = isEmpty && block.length === 0 ? [0, 0] : varintsOf(block);
    const isComplete = messageCount !== undefined && Number.isSafeInteger(wordCount) && others.length === 0;
    if (!isComplete || (messageCount === 0 && !isEmpty)) {
      throw this.#corrupt("how many messages and words the full-text index holds is not told");
    }
    this.#freshen(messageCount);
    return { messageCount, wordCount: wordCount! };
  }

  #setTotals({ messageCount, wordCount }: IndexTotals): void {
    if (messageCount < 0 || wordCount < 0)
      throw this.#corrupt("the full-text index holds fewer words than are deleted");
    withShadowTables(this.#database.client, () => {
      this.#setAverages.run(Buffer.concat([varintOf(messageCount), varintOf(wordCount)]));
    });
  }

  /** Forgets frequencies that another process may have changed, or that are too old. */
  #freshen(messageCount: number): void {
    const dataVersion = this.#database.dataVersion();
    const known = this.#frequenciesOf;
    if (dataVersion === known.dataVersion && messageCount <= known.messageCount * FREQUENCY_GROWTH_MAX) return;
    this.#frequencies.clear();
    this.#frequenciesOf = { messageCount, dataVersion };
  }

  /** The number of indexed messages that hold a stem. It may be a tenth too low until `totals` is called again. */
  frequencyOf(stem: string): number {
    const known = this.#frequencies.get(stem);
    if (known !== undefined) return known;
    const count = this.#frequency.get(stem) ?? 0;
    if (count >= FREQUENCY_KEPT_MIN) this.#frequencies.set(stem, count);
    return count;
  }

  /** The totals, counted one by one. */
  countedTotals(): IndexTotals {
    const [messageCount, sizes] = this.#countedTotals.one();
    const wordCount = varintsOf(Buffer.from(sizes, "hex")).reduce((sum, count) => sum + count, 0);
    return { messageCount, wordCount };
  }

  /** The indexed messages that hold a stem, in order of id, each as often as it holds the stem. An occurrence takes 0.1 µs. */
  occurrences(stem: string): number[] {
    // The table is temporary, so that a reader can create it. It must be created again if its transaction was rolled back.
    this.#database.client.exec(
      "CREATE VIRTUAL TABLE IF NOT EXISTS temp.messages_fts_occurrences USING fts5vocab(main, messages_fts, instance)",
    );
    return JSON.parse(this.#occurrences.one(stem)) as number[];
  }

  /** The number of words that each message has in the index. The first read of a message's number takes 0.3 µs. */
  lengthsOf(ids: readonly number[]): number[] {
    const unread = ids.filter((id) => !this.#lengths[id]);
    if (unread.length > 0) this.#readLengths(unread);
    return ids.map((id) => this.#lengths[id]!);
  }

  #readLengths(ids: readonly number[]): void {
    const newestId = this.newestId();
    if (newestId >= this.#lengths.length) {
      const known = this.#lengths;
      this.#lengths = new Uint32Array(2 * newestId);
      this.#lengths.set(known);
    }
    const [found, sizes] = this.#sizes.one(JSON.stringify(ids));
    const lengths = varintsOf(Buffer.from(sizes ?? "", "hex"));
    for (const [index, id] of (JSON.parse(found) as number[]).entries()) this.#lengths[id] = lengths[index]!;
    const missing = ids.find((id) => !this.#lengths[id]);
    if (missing === undefined) return;
    throw this.#corrupt(`the full-text index holds words of message ${missing}, but not their number`);
  }

  /** Indexed messages of a scope that match an expression of FTS5, the newest first. */
  matching(expression: string, scope: SearchScope, limit: number): IterableIterator<[number, string]> {
    const { sql, values } = scopeCondition(scope);
    return this.#scopedStatement<[number, string]>(
      `SELECT m.id, ${SEARCH_TEXT} FROM messages_fts f JOIN messages m ON m.id = f.rowid
       WHERE f.messages_fts MATCH ? ${sql === "" ? "" : `AND ${sql}`} ORDER BY f.rowid DESC LIMIT ?`,
    ).iterate(expression, ...values, limit);
  }

  /** The messages among the given ones that are in a scope, in the order given. */
  inScope(ids: readonly number[], scope: SearchScope): number[] {
    const { sql, values } = scopeCondition(scope);
    if (sql === "" || ids.length === 0) return [...ids];
    const inScope = this.#scopedStatement<[number]>(`SELECT m.id ${GIVEN} WHERE ${sql} ORDER BY given.key`);
    return inScope.all(JSON.stringify(ids), ...values).map(([id]) => id);
  }

  /** The given messages, in the order given. */
  texts(ids: readonly number[]): IterableIterator<SearchText> {
    return this.#texts.iterate(JSON.stringify(ids));
  }

  /** The ids of all messages of a scope's sessions; undefined if they are many, or if all messages are in scope. */
  idsOf(scope: SearchScope): number[] | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    const few = `SELECT m.id FROM messages m WHERE ${sql} LIMIT ${SCOPE_IDS_MAX + 1}`;
    const [list] = this.#scopedStatement<[string]>(`SELECT json_group_array(id) FROM (${few})`).one(...values);
    const ids = JSON.parse(list) as number[];
    return ids.length > SCOPE_IDS_MAX ? undefined : ids;
  }

  /** The messages of `idsOf`, however many. A session takes two lookups if no other session's messages are between its own. */
  messagesOf(scope: SearchScope): SessionMessages | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    // When a seq rises by one, the id rises by one or more. So equal distances leave no room for another session's message.
    const sessions = this.#scopedStatement<[id: string, firstId: number, lastId: number, isRange: number]>(
      `SELECT s.id, m.id, z.id, z.id - m.id = z.seq - m.seq
       FROM sessions s
       CROSS JOIN messages m ON m.session_id = s.id AND m.seq = (SELECT min(seq) FROM messages WHERE session_id = s.id)
       CROSS JOIN messages z ON z.session_id = s.id AND z.seq = (SELECT max(seq) FROM messages WHERE session_id = s.id)
       WHERE ${sql} ORDER BY m.id`,
    ).all(...values);
    const ranges = sessions.filter(([, , , isRange]) => isRange === 1).map(([, first, last]) => [first, last] as const);
    const others = sessions.filter(([, , , isRange]) => isRange === 0).map(([id]) => id);
    const ids = others.length === 0 ? [] : (JSON.parse(this.#idsOfSessions.one(JSON.stringify(others))) as number[]);
    return new SessionMessages(ranges, new Set(ids));
  }

  #corrupt(reason: string): StoreError {
    return new StoreError("STORE_CORRUPT", { path: this.path, reason });
  }

  /** A statement that a scope is part of, with rows as lists. It is compiled once for each set of filters. */
  #scopedStatement<Row>(sql: string): Statement<Value[], Row> {
    let scoped = this.#scoped.get(sql);
    if (scoped === undefined) {
      scoped = this.statement<Value[], unknown>`${sql}`.raw();
      this.#scoped.set(sql, scoped);
    }
    return scoped as Statement<Value[], Row>;
  }
}

/** Runs a function that may change the tables behind the index. SQLite forbids that otherwise. */
function withShadowTables(client: Database.Database, run: () => void): void {
  client.unsafeMode(true);
  try {
    run();
  } finally {
    client.unsafeMode(false);
  }
}

/** Decodes SQLite's varints: 7 bits a byte, the highest first, with the top bit set on all bytes but the last. */
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

function varintOf(value: number): Buffer {
  const bytes = [value % 128];
  for (let high = Math.floor(value / 128); high > 0; high = Math.floor(high / 128)) bytes.unshift(128 + (high % 128));
  return Buffer.from(bytes);
}
