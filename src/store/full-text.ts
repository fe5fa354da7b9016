import type Database from "better-sqlite3";
import { StoreError } from "../core/errors.ts";
import { recreateFullTextTables, withShadowTables } from "./full-text-tables.ts";
import { KeptNumbers } from "./kept-numbers.ts";
import type { StoreDatabase } from "./open.ts";
import { type SearchScope, scopeCondition, sessionCondition } from "./search-scope.ts";
import { isUnbroken, SessionMessages, type SessionSpan } from "./session-spans.ts";

/** A scope of at most so many messages is read as a list of ids first, a tenth of a microsecond each. */
const SCOPE_IDS_MAX = 5_000;

/** In how many messages a word must be for its count to be kept in memory: reading it takes 10 ns for each of them. */
const FREQUENCY_KEPT_MIN = 500;

/** Growth of the index past which counts are read again. */
const FREQUENCY_GROWTH_MAX = 1.1;

/** Statements kept prepared. */
const PREPARED_MAX = 100;

type Value = string | number | bigint | Buffer | null;

/** What of a message is indexed: its speaker, where it names one, and its text. */
export interface SearchText {
  id: number;
  text: string;
}

/** What BM25 needs of the index as a whole. */
export interface IndexTotals {
  messageCount: number;
  /** Words of all of them. */
  wordCount: number;
}

const SEARCH_TEXT = "CASE WHEN m.name IS NULL THEN m.text ELSE m.name || char(10) || m.text END";

/**
 * Rows of `messages_fts` and its shadow tables. Statements are prepared when they are first needed: a damaged index must
 * not keep a store from being opened.
 */
export class FullTextRepository {
  readonly #database: StoreDatabase;
  readonly #prepared = new Map<string, Database.Statement<Value[]>>();
  /** By stem. */
  readonly #frequencies = new Map<string, number>();
  /** What the index was like when the first of them was read. */
  #frequenciesOf = { messageCount: 0, dataVersion: -1 };
  /** By message: ids are not used twice, and what is indexed of a message does not change. */
  readonly #lengths = new KeptNumbers();

  constructor(database: StoreDatabase) {
    this.#database = database;
  }

  /** The newest message in the index; 0 if there is none. All older ones are in it, those after it are the tail. */
  newestId(): number {
    return this.#one<number | null>("SELECT max(id) FROM messages_fts_docsize") ?? 0;
  }

  tailCount(): number {
    return this.#one<number>("SELECT count(*) FROM messages WHERE id > ?", this.newestId())!;
  }

  /** The oldest messages of the tail, at most `limit`. */
  tail(limit: number): SearchText[] {
    const sql = `SELECT m.id, ${SEARCH_TEXT} AS text FROM messages m WHERE m.id > ? ORDER BY m.id LIMIT ?`;
    return this.#prepare(sql).all(this.newestId(), limit) as SearchText[];
  }

  /** All of it, as pairs of id and text, in order. */
  eachOfTail(): IterableIterator<[number, string]> {
    const sql = `SELECT m.id, ${SEARCH_TEXT} FROM messages m WHERE m.id > ? ORDER BY m.id`;
    return this.#prepare(sql).raw(true).iterate(this.newestId()) as IterableIterator<[number, string]>;
  }

  insert(id: number, words: readonly string[]): void {
    this.#prepare("INSERT INTO messages_fts (rowid, words) VALUES (?, ?)").run(id, words.join(" "));
  }

  delete(ids: readonly number[]): void {
    this.#delete("SELECT value FROM json_each(?)", JSON.stringify(ids));
  }

  deleteSession(sessionId: string): void {
    this.#delete("SELECT id FROM messages WHERE session_id = ?", sessionId);
  }

  #delete(which: string, value: string): void {
    const { messageCount, wordCount } = this.totals();
    const sizes = this.#one<string>(
      `SELECT coalesce(group_concat(hex(sz), ''), '') FROM messages_fts_docsize WHERE id IN (${which})`,
      value,
    )!;
    const gone = varintsOf(Buffer.from(sizes, "hex"));
    // SQLite lets these stand as they were, and with them what was forgotten. With its first change in a transaction it
    // takes them into memory: so they come before it.
    this.#setTotals({
      messageCount: messageCount - gone.length,
      wordCount: gone.reduce((left, count) => left - count, wordCount),
    });
    this.#prepare(`DELETE FROM messages_fts WHERE rowid IN (${which})`).run(value);
    this.#frequencies.clear();
  }

  /** Empty the index, whatever state it is in. */
  clear(): void {
    recreateFullTextTables(this.#database.client);
    this.#frequencies.clear();
    this.#lengths.clear();
  }

  /**
   * Begin to merge all parts of the index into one, without the words of deleted messages; `mergeOn` goes on with it.
   *
   * @param pages  Written before it stops, about: 4 KB each.
   * @returns whether anything was to be done.
   */
  mergeAll(pages: number): boolean {
    return this.#merge(-pages);
  }

  /** @returns false once no merge is under way. */
  mergeOn(pages: number): boolean {
    return this.#merge(pages);
  }

  #merge(pages: number): boolean {
    const changes = (): number => this.#one<number>("SELECT total_changes()")!;
    const before = changes();
    this.#prepare("INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)").run(pages);
    // The statement itself counts as one: https://sqlite.org/fts5.html, 6.8.
    return changes() - before > 1;
  }

  /** @throws {StoreError} `STORE_CORRUPT` where they cannot be those of the index. */
  totals(): IndexTotals {
    // "The averages record" of fts5_index.c: the count of rows, then for each column that of its words.
    const block = this.#one<Buffer>("SELECT block FROM messages_fts_data WHERE id = 1") ?? Buffer.alloc(0);
    const isEmpty = this.newestId() === 0;
    const [messageCount, wordCount, ...others] = isEmpty && block.length === 0 ? [0, 0] : varintsOf(block);
    const isTold = messageCount !== undefined && Number.isSafeInteger(wordCount) && others.length === 0;
    if (!isTold || (messageCount === 0 && !isEmpty)) {
      throw this.#corrupt("how many messages and words the full-text index holds is not told");
    }
    this.#freshen(messageCount);
    return { messageCount, wordCount: wordCount! };
  }

  #setTotals({ messageCount, wordCount }: IndexTotals): void {
    if (messageCount < 0 || wordCount < 0)
      throw this.#corrupt("the full-text index holds fewer words than are deleted");
    const { client } = this.#database;
    withShadowTables(client, () => {
      const block = Buffer.concat([varintOf(messageCount), varintOf(wordCount)]);
      client.prepare("UPDATE messages_fts_data SET block = ? WHERE id = 1").run(block);
    });
  }

  /** Forget counts that others may have changed, or that are too far behind. */
  #freshen(messageCount: number): void {
    const dataVersion = this.#database.dataVersion();
    const known = this.#frequenciesOf;
    if (dataVersion === known.dataVersion && messageCount <= known.messageCount * FREQUENCY_GROWTH_MAX) return;
    this.#frequencies.clear();
    this.#frequenciesOf = { messageCount, dataVersion };
  }

  /** In how many indexed messages a stem occurs; up to a tenth fewer than are there since the last look at the `totals`. */
  frequencyOf(stem: string): number {
    const known = this.#frequencies.get(stem);
    if (known !== undefined) return known;
    const count = this.#one<number>("SELECT doc FROM messages_fts_terms WHERE term = ?", stem) ?? 0;
    if (count >= FREQUENCY_KEPT_MIN) this.#frequencies.set(stem, count);
    return count;
  }

  /** Whether any message is found by any word. @throws where what is kept to find it cannot be read. */
  hasWords(): boolean {
    return this.#one<string>("SELECT term FROM messages_fts_terms LIMIT 1") !== undefined;
  }

  /** Messages up to the newest indexed one that are not indexed, and indexed ones that are not there. */
  rowFaults(): { missingCount: number; strangerCount: number } {
    const count = (sql: string): number => this.#one<number>(`SELECT count(*) FROM ${sql}`)!;
    return {
      missingCount: count(
        `messages WHERE id <= (SELECT max(id) FROM messages_fts_docsize) AND id NOT IN (SELECT id FROM messages_fts_docsize)`,
      ),
      strangerCount: count("messages_fts_docsize WHERE id NOT IN (SELECT id FROM messages)"),
    };
  }

  /** The same as the totals, counted one by one. */
  countedTotals(): IndexTotals {
    const sql = "SELECT count(*), coalesce(group_concat(hex(sz), ''), '') FROM messages_fts_docsize";
    const [messageCount, sizes] = this.#prepare(sql).raw(true).get() as [number, string];
    const wordCount = varintsOf(Buffer.from(sizes, "hex")).reduce((sum, count) => sum + count, 0);
    return { messageCount, wordCount };
  }

  /** Indexed messages after one, with the number of words that each has in the index. */
  wordCounts(afterId: number, limit: number): (SearchText & { wordCount: number })[] {
    const sql = `SELECT m.id, ${SEARCH_TEXT} AS text, d.sz FROM messages_fts_docsize d JOIN messages m ON m.id = d.id
      WHERE d.id > ? ORDER BY d.id LIMIT ?`;
    const rows = this.#prepare(sql).all(afterId, limit) as (SearchText & { sz: Buffer })[];
    return rows.map(({ id, text, sz }) => ({ id, text, wordCount: varintsOf(sz)[0] ?? 0 }));
  }

  /** Indexed messages with a stem, in order of their ids, each as often as it holds it: 0.1 µs for each time. */
  occurrences(stem: string): number[] {
    // Temporary, so that a reader can have it, and made again where the transaction that made it was rolled back.
    this.#database.client.exec(
      "CREATE VIRTUAL TABLE IF NOT EXISTS temp.messages_fts_occurrences USING fts5vocab(main, messages_fts, instance)",
    );
    // One text for all of them: as rows they would take four times as long.
    const sql = "SELECT json_group_array(doc) FROM temp.messages_fts_occurrences WHERE term = ?";
    return JSON.parse(this.#one<string>(sql, stem)!) as number[];
  }

  /** How many words each of these messages has in the index: 0.3 µs for one that nobody has asked for before. */
  lengthsOf(ids: readonly number[]): number[] {
    const lengths = ids.map((id) => this.#lengths.get(id));
    if (!lengths.includes(0)) return lengths;
    this.#readLengths(ids.filter((_, index) => lengths[index] === 0));
    return ids.map((id) => this.#lengths.get(id));
  }

  #readLengths(ids: readonly number[]): void {
    const sql = `SELECT json_group_array(d.id), group_concat(hex(d.sz), '')
      FROM json_each(?) given CROSS JOIN messages_fts_docsize d ON d.id = given.value`;
    const [found, sizes] = this.#prepare(sql).raw(true).get(JSON.stringify(ids)) as [string, string | null];
    const lengths = varintsOf(Buffer.from(sizes ?? "", "hex"));
    (JSON.parse(found) as number[]).forEach((id, index) => void this.#lengths.set(id, lengths[index]!));
    const missing = ids.find((id) => this.#lengths.get(id) === 0);
    if (missing === undefined) return;
    throw this.#corrupt(`the full-text index holds words of message ${missing}, and not how many`);
  }

  /** Indexed messages of a scope for which an expression of FTS5 holds, the newest first. */
  matching(expression: string, scope: SearchScope, limit: number): IterableIterator<[number, string]> {
    const inScope = scopeCondition(scope);
    const sql = `SELECT m.id, ${SEARCH_TEXT} FROM messages_fts f JOIN messages m ON m.id = f.rowid
      WHERE f.messages_fts MATCH ? ${inScope.sql === "" ? "" : `AND ${inScope.sql}`} ORDER BY f.rowid DESC LIMIT ?`;
    const rows = this.#prepare(sql)
      .raw(true)
      .iterate(expression, ...inScope.values, limit);
    return rows as IterableIterator<[number, string]>;
  }

  /** Those of the given messages that are in a scope, in the order given. */
  inScope(ids: readonly number[], scope: SearchScope): number[] {
    const { sql: condition, values } = scopeCondition(scope);
    if (condition === "" || ids.length === 0) return [...ids];
    const sql = `SELECT m.id FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value WHERE ${condition}
      ORDER BY given.key`;
    return this.#prepare(sql)
      .pluck(true)
      .all(JSON.stringify(ids), ...values) as number[];
  }

  /** The given messages, in the order given. */
  texts(ids: readonly number[]): IterableIterator<SearchText> {
    const sql = `SELECT m.id, ${SEARCH_TEXT} AS text
      FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value ORDER BY given.key`;
    const rows = this.#prepare(sql).iterate(JSON.stringify(ids));
    return rows as IterableIterator<SearchText>;
  }

  /** The messages of a scope's sessions, indexed or not, as long as they are few; undefined where all are in scope. */
  idsOf(scope: SearchScope): number[] | undefined {
    const { sql: condition, values } = sessionCondition(scope);
    if (condition === "") return undefined;
    const sql = `SELECT json_group_array(id) FROM
      (SELECT m.id FROM messages m WHERE ${condition} LIMIT ${SCOPE_IDS_MAX + 1})`;
    const ids = JSON.parse(this.#one<string>(sql, ...values)!) as number[];
    return ids.length > SCOPE_IDS_MAX ? undefined : ids;
  }

  /** The same, however many they are: two look-ups for a session whose messages have no others between them. */
  messagesOf(scope: SearchScope): SessionMessages | undefined {
    const { sql: condition, values } = sessionCondition(scope);
    if (condition === "") return undefined;
    const sql = `SELECT m.session_id AS sessionId, m.id AS firstId, m.seq AS firstSeq, z.id AS lastId, z.seq AS lastSeq
      FROM sessions s
      CROSS JOIN messages m ON m.session_id = s.id AND m.seq = (SELECT min(seq) FROM messages WHERE session_id = s.id)
      CROSS JOIN messages z ON z.session_id = s.id AND z.seq = (SELECT max(seq) FROM messages WHERE session_id = s.id)
      WHERE ${condition}`;
    const spans = this.#prepare(sql).all(...values) as SessionSpan[];
    const broken = spans.filter((span) => !isUnbroken(span)).map(({ sessionId }) => sessionId);
    const ids = `SELECT json_group_array(m.id) FROM json_each(?) given CROSS JOIN messages m ON m.session_id = given.value`;
    const others = broken.length === 0 ? [] : (JSON.parse(this.#one<string>(ids, JSON.stringify(broken))!) as number[]);
    return new SessionMessages(spans.filter(isUnbroken), new Set(others));
  }

  #corrupt(reason: string): StoreError {
    return new StoreError("STORE_CORRUPT", { path: this.#database.path, reason });
  }

  #one<T>(sql: string, ...values: Value[]): T | undefined {
    return this.#prepare(sql)
      .pluck(true)
      .get(...values) as T | undefined;
  }

  #prepare(sql: string): Database.Statement<Value[]> {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.client.prepare<Value[]>(sql);
      // A search has as many shapes as it may have words and filters.
      if (this.#prepared.size >= PREPARED_MAX) this.#prepared.clear();
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** Whole numbers in SQLite's own coding: 7 bits a byte, the highest first, the top bit set on all but the last byte. */
export function varintsOf(bytes: Buffer): number[] {
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
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(128 + (rest % 128));
  return Buffer.from(bytes);
}
