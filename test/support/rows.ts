import Database from "better-sqlite3";

/** Look into a store file, or meddle with it, behind the store's back. */
export function inDatabase<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** The same, for what awaits while it has the file open. */
export async function inDatabaseAsync<T>(path: string, use: (database: Database.Database) => Promise<T>): Promise<T> {
  const database = new Database(path);
  try {
    return await use(database);
  } finally {
    database.close();
  }
}

/** Damages an index: it lacks the rows that meet a condition, as after a bad bit in one of its pages. */
export function loseFromIndex(path: string, index: string, lost: string): void {
  inDatabase(path, (database) => {
    const read = database.prepare<[string], string>("SELECT sql FROM sqlite_master WHERE name = ?").pluck();
    const whole = read.get(index)!;
    const lacking = / where /i.test(whole) ? `${whole} AND NOT (${lost})` : `${whole} WHERE NOT (${lost})`;
    database.unsafeMode(true);
    for (const sql of [lacking, whole]) {
      database.pragma("writable_schema = ON");
      database.prepare("UPDATE sqlite_master SET sql = ? WHERE name = ?").run(sql, index);
      database.pragma("writable_schema = RESET");
      if (sql === lacking) database.exec(`REINDEX ${index}`);
    }
  });
}

/** Everything that is derived from facts, each value as SQLite would write it: blobs in hexadecimal, floats in full. */
export function derivedRows(path: string): string[] {
  return inDatabase(path, (database) => [
    ...rowsOf(database, "clusters"),
    ...rowsOf(database, "themes"),
    ...rowsOf(database, "(SELECT id, parent_id FROM messages)"),
  ]);
}

/** Every row of every table, derived or not. */
export function allRows(path: string): string[] {
  return inDatabase(path, (database) => {
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .pluck()
      .all();
    return tables.flatMap((table) => rowsOf(database, `"${table}"`));
  });
}

/** Sorted, because rows have no order of their own. */
export function rowsOf(database: Database.Database, table: string): string[] {
  const columns = database.prepare(`SELECT * FROM ${table} LIMIT 0`).columns();
  const values = columns.map(({ name }) => `quote("${name}")`).join(" || ',' || ");
  return database.prepare<[], string>(`SELECT '${table}: ' || ${values} FROM ${table}`).pluck().all().sort();
}
