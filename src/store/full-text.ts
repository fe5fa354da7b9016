import { StoreError } from "../core/errors.ts";
import { recreateFullTextTables, withShadowTables } from "./full-text-tables.ts";
import { KeptNumbers } from "./kept-numbers.ts";
import type { StoreDatabase } from "./open.ts";
import { type SearchScope, scopeCondition, sessionCondition } from "./search-scope.ts";
import { isUnbroken, SessionMessages, type SessionSpan } from "./session-spans.ts";
import type { Statement } from "./statement.ts";

/** The most messages of a scope that are read as a list of ids first. Each takes a tenth of a microsecond. */
const SCOPE_IDS_MAX = 5_000;

/** The fewest messages a word must occur in for its count to be kept in memory. Reading the count takes 10 ns for each. */
const FREQUENCY_KEPT_MIN = 500;

/** The growth of the index after which counts are read again. */
const FREQUENCY_GROWTH_MAX = 1.1;

/** The most compiled statements with a scope. A search has as many forms as it may have words and filters. */
const SCOPED_MAX = 100;

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
const TAIL = "FROM messages m WHERE m.id > ? ORDER BY m.id";
const GIVEN = "FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value";
const SIZES = "coalesce(group_concat(hex(sz), ''), '') FROM messages_fts_docsize";

const statements = ({ statement }: StoreDatabase) => ({
  // FTS5, its tables, and lists as JSON, which are also the fastest way to hand over many values.
  newestId: statement<[], number | null>`SELECT max(id) FROM messages_fts_docsize`.pluck(),
  tailCount: statement<[newestId: number], number>`SELECT count(*) FROM messages WHERE id > ?`.pluck(),
  tail: statement<[newestId: number, limit: number], SearchText>`SELECT m.id, ${SEARCH_TEXT} AS text ${TAIL} LIMIT ?`,
  eachOfTail: statement<[newestId: number], [number, string]>`SELECT m.id, ${SEARCH_TEXT} ${TAIL}`.raw(),
  insert: statement<[id: number, words: string]>`INSERT INTO messages_fts (rowid, words) VALUES (?, ?)`,
  deletedSizes: statement<[ids: string], string>`
    SELECT ${SIZES} WHERE id IN (SELECT value FROM json_each(?))`.pluck(),
  delete: statement<[ids: string]>`DELETE FROM messages_fts WHERE rowid IN (SELECT value FROM json_each(?))`,
  idsOfSession: statement<[sessionId: string], string>`
    SELECT json_group_array(id) FROM messages WHERE session_id = ?`.pluck(),
  merge: statement<[pages: number]>`INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)`,
  changes: statement<[], number>`SELECT total_changes()`.pluck(),
  averages: statement<[], Buffer>`SELECT block FROM messages_fts_data WHERE id = 1`.pluck(),
  setAverages: statement<[block: Buffer]>`UPDATE messages_fts_data SET block = ? WHERE id = 1`,
  frequency: statement<[stem: string], number>`SELECT doc FROM messages_fts_terms WHERE term = ?`.pluck(),
  anyWord: statement<[], string>`SELECT term FROM messages_fts_terms LIMIT 1`.pluck(),
  missingCount: statement<[], number>`
    SELECT count(*) FROM messages
    WHERE id <= (SELECT max(id) FROM messages_fts_docsize) AND id NOT IN (SELECT id FROM messages_fts_docsize)`.pluck(),
  strangerCount: statement<[], number>`
    SELECT count(*) FROM messages_fts_docsize WHERE id NOT IN (SELECT id FROM messages)`.pluck(),
  countedTotals: statement<[], [messageCount: number, sizes: string]>`SELECT count(*), ${SIZES}`.raw(),
  wordCounts: statement<[afterId: number, limit: number], SearchText & { sz: Buffer }>`
    SELECT m.id, ${SEARCH_TEXT} AS text, d.sz FROM messages_fts_docsize d JOIN messages m ON m.id = d.id
    WHERE d.id > ? ORDER BY d.id LIMIT ?`,
  // One JSON text: as rows, the occurrences would take four times as long.
  occurrences: statement<[stem: string], string>`
    SELECT json_group_array(doc) FROM temp.messages_fts_occurrences WHERE term = ?`.pluck(),
  lengths: statement<[ids: string], [ids: string, sizes: string | null]>`
    SELECT json_group_array(d.id), group_concat(hex(d.sz), '')
    FROM json_each(?) given CROSS JOIN messages_fts_docsize d ON d.id = given.value`.raw(),
  texts: statement<[ids: string], SearchText>`SELECT m.id, ${SEARCH_TEXT} AS text ${GIVEN} ORDER BY given.key`,
  idsOfSessions: statement<[sessionIds: string], string>`
    SELECT json_group_array(m.id) FROM json_each(?) given CROSS JOIN messages m ON m.session_id = given.value`.pluck(),
});

/**
 * Rows of `messages_fts` and its shadow tables.
 *
 * A damaged index must not keep a store from being opened, so nothing here runs before it is needed.
 */
export class FullTextRepository {
  readonly #database: StoreDatabase;
  readonly #statements;
  readonly #scoped = new Map<string, Statement<Value[], unknown>>();
  /** The number of messages that hold a stem, by stem. */
  readonly #frequencies = new Map<string, number>();
  /** The state of the index when the first of the frequencies was read. */
  #frequenciesOf = { messageCount: 0, dataVersion: -1 };
  /** The length of each message. It never changes, because ids are not used twice and messages are not edited. */
  readonly #lengths = new KeptNumbers();

  constructor(database: StoreDatabase) {
    this.#database = database;
    this.#statements = statements(database);
  }

  /** The newest message in the index; 0 if there is none. All older messages are in it, and all newer ones are the tail. */
  newestId(): number {
    return this.#statements.newestId.get() ?? 0;
  }

  tailCount(): number {
    return this.#statements.tailCount.get(this.newestId())!;
  }

  /** The oldest messages of the tail, at most `limit`. */
  tail(limit: number): SearchText[] {
    return this.#statements.tail.all(this.newestId(), limit);
  }

  /** The whole tail, as pairs of id and text, in order. */
  eachOfTail(): IterableIterator<[number, string]> {
    return this.#statements.eachOfTail.iterate(this.newestId());
  }

  insert(id: number, words: readonly string[]): void {
    this.#statements.insert.run(id, words.join(" "));
  }

  delete(ids: readonly number[]): void {
    this.#delete(JSON.stringify(ids));
  }

  deleteSession(sessionId: string): void {
    this.#delete(this.#statements.idsOfSession.get(sessionId)!);
  }

  #delete(ids: string): void {
    const { messageCount, wordCount } = this.totals();
    const deleted = varintsOf(Buffer.from(this.#statements.deletedSizes.get(ids)!, "hex"));
    // SQLite does not correct the totals. Its first change in a transaction reads them into memory, so they are
    // written before that.
    this.#setTotals({
      messageCount: messageCount - deleted.length,
      wordCount: deleted.reduce((left, count) => left - count, wordCount),
    });
    this.#statements.delete.run(ids);
    this.#frequencies.clear();
  }

  /** Empties the index, even if it is damaged. */
  clear(): void {
    recreateFullTextTables(this.#database.client);
    this.#frequencies.clear();
    this.#lengths.clear();
  }

  /**
   * Begins to merge all parts of the index into one, without the words of deleted messages. `mergeOn` continues.
   *
   * @param pages  About how many pages of 4 KB are written before this stops.
   * @returns true if there was anything to do.
   */
  mergeAll(pages: number): boolean {
    return this.mergeOn(-pages);
  }

  /** Returns false when no merge is under way. */
  mergeOn(pages: number): boolean {
    const before = this.#statements.changes.get()!;
    this.#statements.merge.run(pages);
    // The statement itself counts as one change: https://sqlite.org/fts5.html, 6.8.
    return this.#statements.changes.get()! - before > 1;
  }

  /** @throws {StoreError} `STORE_CORRUPT` if the totals cannot be those of the index. */
  totals(): IndexTotals {
    // "The averages record" of fts5_index.c: the number of rows, then for each column the number of its words.
    const block = this.#statements.averages.get() ?? Buffer.alloc(0);
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
      this.#statements.setAverages.run(Buffer.concat([varintOf(messageCount), varintOf(wordCount)]));
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
    const count = this.#statements.frequency.get(stem) ?? 0;
    if (count >= FREQUENCY_KEPT_MIN) this.#frequencies.set(stem, count);
    return count;
  }

  /** Returns true if the index holds a word. @throws if the index cannot be read. */
  hasWords(): boolean {
    return this.#statements.anyWord.get() !== undefined;
  }

  /** The messages up to the newest indexed one that are not indexed, and the indexed ones that do not exist. */
  rowFaults(): { missingCount: number; strangerCount: number } {
    const { missingCount, strangerCount } = this.#statements;
    return { missingCount: missingCount.get()!, strangerCount: strangerCount.get()! };
  }

  /** The totals, counted one by one. */
  countedTotals(): IndexTotals {
    const [messageCount, sizes] = this.#statements.countedTotals.get()!;
    const wordCount = varintsOf(Buffer.from(sizes, "hex")).reduce((sum, count) => sum + count, 0);
    return { messageCount, wordCount };
  }

  /** Indexed messages after `afterId`, with the number of words that each has in the index. */
  wordCounts(afterId: number, limit: number): (SearchText & { wordCount: number })[] {
    const rows = this.#statements.wordCounts.all(afterId, limit);
    return rows.map(({ id, text, sz }) => ({ id, text, wordCount: varintsOf(sz)[0] ?? 0 }));
  }

  /** The indexed messages that hold a stem, in order of id, each as often as it holds the stem. An occurrence takes 0.1 µs. */
  occurrences(stem: string): number[] {
    // The table is temporary, so that a reader can create it. It must be created again if its transaction was rolled back.
    this.#database.client.exec(
      "CREATE VIRTUAL TABLE IF NOT EXISTS temp.messages_fts_occurrences USING fts5vocab(main, messages_fts, instance)",
    );
    return JSON.parse(this.#statements.occurrences.get(stem)!) as number[];
  }

  /** The number of words that each message has in the index. The first read of a message's number takes 0.3 µs. */
  lengthsOf(ids: readonly number[]): number[] {
    const lengths = ids.map((id) => this.#lengths.get(id));
    if (!lengths.includes(0)) return lengths;
    this.#readLengths(ids.filter((_, index) => lengths[index] === 0));
    return ids.map((id) => this.#lengths.get(id));
  }

  #readLengths(ids: readonly number[]): void {
    const [found, sizes] = this.#statements.lengths.get(JSON.stringify(ids))!;
    const lengths = varintsOf(Buffer.from(sizes ?? "", "hex"));
    (JSON.parse(found) as number[]).forEach((id, index) => void this.#lengths.set(id, lengths[index]!));
    const missing = ids.find((id) => this.#lengths.get(id) === 0);
    if (missing === undefined) return;
    throw this.#corrupt(`the full-text index holds words of message ${missing}, but not their number`);
  }

  /** Indexed messages of a scope that match an expression of FTS5, the newest first. */
  matching(expression: string, scope: SearchScope, limit: number): IterableIterator<[number, string]> {
    const { sql, values } = scopeCondition(scope);
    return this.#scopedStatement<[number, string]>(
      `SELECT m.id, ${SEARCH_TEXT} FROM messages_fts f JOIN messages m ON m.id = f.rowid
       WHERE f.messages_fts MATCH ? ${sql === "" ? "" : `AND ${sql}`} ORDER BY f.rowid DESC LIMIT ?`,
      "raw",
    ).iterate(expression, ...values, limit);
  }

  /** The messages among the given ones that are in a scope, in the order given. */
  inScope(ids: readonly number[], scope: SearchScope): number[] {
    const { sql, values } = scopeCondition(scope);
    if (sql === "" || ids.length === 0) return [...ids];
    const inScope = this.#scopedStatement<number>(`SELECT m.id ${GIVEN} WHERE ${sql} ORDER BY given.key`, "pluck");
    return inScope.all(JSON.stringify(ids), ...values);
  }

  /** The given messages, in the order given. */
  texts(ids: readonly number[]): IterableIterator<SearchText> {
    return this.#statements.texts.iterate(JSON.stringify(ids));
  }

  /** The ids of all messages of a scope's sessions; undefined if they are many, or if all messages are in scope. */
  idsOf(scope: SearchScope): number[] | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    const few = `SELECT m.id FROM messages m WHERE ${sql} LIMIT ${SCOPE_IDS_MAX + 1}`;
    const list = this.#scopedStatement<string>(`SELECT json_group_array(id) FROM (${few})`, "pluck").get(...values)!;
    const ids = JSON.parse(list) as number[];
    return ids.length > SCOPE_IDS_MAX ? undefined : ids;
  }

  /** The messages of `idsOf`, however many. A session takes two lookups if no other session's messages are between its own. */
  messagesOf(scope: SearchScope): SessionMessages | undefined {
    const { sql, values } = sessionCondition(scope);
    if (sql === "") return undefined;
    const spans = this.#scopedStatement<SessionSpan>(
      `SELECT s.id AS sessionId, m.id AS firstId, m.seq AS seqFirst, z.id AS lastId, z.seq AS seqLast
       FROM sessions s
       CROSS JOIN messages m ON m.session_id = s.id AND m.seq = (SELECT min(seq) FROM messages WHERE session_id = s.id)
       CROSS JOIN messages z ON z.session_id = s.id AND z.seq = (SELECT max(seq) FROM messages WHERE session_id = s.id)
       WHERE ${sql}`,
    ).all(...values);
    const broken = spans.filter((span) => !isUnbroken(span)).map(({ sessionId }) => sessionId);
    const others = broken.length === 0 ? "[]" : this.#statements.idsOfSessions.get(JSON.stringify(broken))!;
    return new SessionMessages(spans.filter(isUnbroken), new Set(JSON.parse(others) as number[]));
  }

  #corrupt(reason: string): StoreError {
    return new StoreError("STORE_CORRUPT", { path: this.#database.path, reason });
  }

  /** A statement that a scope is part of. The text of each form is compiled once. */
  #scopedStatement<Row>(sql: string, form?: "pluck" | "raw"): Statement<Value[], Row> {
    let scoped = this.#scoped.get(sql);
    if (scoped === undefined) {
      const plain = this.#database.statement<Value[], unknown>`${sql}`;
      scoped = form === undefined ? plain : plain[form]();
      if (this.#scoped.size >= SCOPED_MAX) this.#scoped.clear();
      this.#scoped.set(sql, scoped);
    }
    return scoped as Statement<Value[], Row>;
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
