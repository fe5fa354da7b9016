import type Database from "better-sqlite3";
import { FULL_TEXT_TABLES } from "./full-text.ts";

const COPY = "temp.messages_fts_copy";
/** SQL: what an index has of each word. The remainder keeps the sums of large ids within 64 bits. */
const occurrencesIn = (table: string): string =>
  `SELECT term, count(*) AS found, sum(doc % 1000003), sum((doc % 1000003) * (offset + 1)) FROM ${table} GROUP BY term`;

/** A second index of the same words in temporary tables, which `verify` compares with the stored one. A reader may have it, too. */
export class FullTextCopy {
  readonly #client: Database.Database;
  readonly #insert: Database.Statement<[id: number, words: string]>;

  constructor(client: Database.Database) {
    this.#client = client;
    this.#drop();
    client.exec(FULL_TEXT_TABLES[0]!.replace("messages_fts", COPY));
    client.exec(`CREATE VIRTUAL TABLE ${COPY}_words USING fts5vocab(temp, messages_fts_copy, instance);
      CREATE VIRTUAL TABLE ${COPY}_stored USING fts5vocab(main, messages_fts, instance)`);
    this.#insert = client.prepare(`INSERT INTO ${COPY} (rowid, words) VALUES (?, ?)`);
  }

  insert(id: number, words: readonly string[]): void {
    this.#insert.run(id, words.join(" "));
  }

  /** Counts the words whose occurrences are not those in the stored index, or are not found there, and deletes the copy. */
  end(): number {
    const [copied, stored] = [occurrencesIn(`${COPY}_words`), occurrencesIn(`${COPY}_stored`)];
    // The list of occurrences is read from its beginning. A search looks words up, which needs other pages.
    const different = `SELECT term FROM (SELECT * FROM (${copied}) EXCEPT SELECT * FROM (${stored}))
      UNION SELECT term FROM (SELECT * FROM (${stored}) EXCEPT SELECT * FROM (${copied}))
      UNION SELECT term FROM (${copied}) AS word WHERE (SELECT cnt FROM messages_fts_terms WHERE term = word.term) IS NOT found`;
    const count = this.#client.prepare<[], number>(`SELECT count(*) FROM (${different})`).pluck().get()!;
    this.#drop();
    return count;
  }

  #drop(): void {
    for (const table of [`${COPY}_words`, `${COPY}_stored`, COPY]) this.#client.exec(`DROP TABLE IF EXISTS ${table}`);
  }
}
