import type Database from "better-sqlite3";

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

/**
 * Creates the index again, empty, even if it is damaged. SQLite does not drop an index that it cannot open, and it opens none
 * without a table that says its version.
 */
export function recreateFullTextTables(client: Database.Database): void {
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
}

/** Runs a function that may change the tables behind the index. SQLite forbids that otherwise. */
export function withShadowTables<T>(client: Database.Database, run: () => T): T {
  client.unsafeMode(true);
  try {
    return run();
  } finally {
    client.unsafeMode(false);
  }
}
