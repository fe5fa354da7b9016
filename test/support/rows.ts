import { readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { SEALED } from "../../src/store/sql/row-check.ts";
import { columns } from "../../src/store/sql/statement.ts";

/** Look into a store file, or meddle with it, behind the store's back. */
export function inDatabase<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** Changes rows as if the store had written them so: those that get the checksum -1 then get the right one. */
export function inSealed<T>(path: string, use: (database: Database.Database) => T): T {
  return inDatabase(path, (database) => {
    const result = use(database);
    sealRows(database);
    return result;
  });
}

/** Gives the rows that have the checksum -1 the right one. */
export function sealRows(database: Database.Database): void {
  for (const table of SEALED) {
    const [whole, name] = [columns(table), table.name];
    const rows = database.prepare<[], Record<string, unknown>>(
      `SELECT rowid AS rowId, ${String(whole)} FROM ${name} NOT INDEXED WHERE checksum = -1`,
    );
    const write = database.prepare(`UPDATE ${name} SET checksum = @checksum WHERE rowid = @rowId`);
    for (const row of rows.all()) {
      whole.seal(row);
      write.run({ checksum: row.checksum, rowId: row.rowId });
    }
  }
}

/** The same as `inDatabase`, for what awaits while it has the file open. */
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
  fillIndex(path, index, (condition) => (condition === undefined ? `NOT (${lost})` : `${condition} AND NOT (${lost})`));
}

/** Damages an index: it has the rows of another condition than its own. */
export function fillIndex(path: string, index: string, conditionOf: (own: string | undefined) => string): void {
  fillAs(path, index, (whole) => {
    const [columns = "", condition] = whole.split(/ where /i);
    return `${columns} WHERE ${conditionOf(condition)}`;
  });
}

/** Damages an index: it has another value in place of a column. */
export function rekeyIndex(path: string, index: string, column: string, value: string): void {
  fillAs(path, index, (whole) => whole.replace(new RegExp(`\`${column}\`(?=[,)])`), value));
}

/** Fills an index as if it were defined otherwise. */
function fillAs(path: string, index: string, definitionOf: (own: string) => string): void {
  inDatabase(path, (database) => {
    const read = database.prepare<[string], string>("SELECT sql FROM sqlite_master WHERE name = ?").pluck();
    const whole = read.get(index)!;
    const other = definitionOf(whole);
    database.unsafeMode(true);
    for (const sql of [other, whole]) {
      database.pragma("writable_schema = ON");
      database.prepare("UPDATE sqlite_master SET sql = ? WHERE name = ?").run(sql, index);
      database.pragma("writable_schema = RESET");
      if (sql === other) database.exec(`REINDEX ${index}`);
    }
  });
}

/** Damages an index or a table that has one page: it has no rows. */
export function emptyPage(path: string, name: string): void {
  const { rootpage, type } = rootOf(path, name);
  const bytes = readFileSync(path);
  const empty = Buffer.alloc(4_096);
  empty.set([type === "table" ? 0x0d : 0x0a, 0, 0, 0, 0, 0x10, 0]); // a leaf whose content begins at the end of the page
  empty.copy(bytes, (rootpage - 1) * 4_096);
  writeFileSync(path, bytes);
}

/** Damages an index or a table that has one page: the first page of another one is in its place. */
export function replacePage(path: string, name: string, other: string): void {
  const placeOf = (table: string): number => (rootOf(path, table).rootpage - 1) * 4_096;
  const [to, from] = [placeOf(name), placeOf(other)];
  const bytes = readFileSync(path);
  bytes.copyWithin(to, from, from + 4_096);
  writeFileSync(path, bytes);
}

/** Damages an index or a table that has one page: its page is that of another file. */
export function restorePage(path: string, name: string, from: string): void {
  const at = (rootOf(path, name).rootpage - 1) * 4_096;
  const bytes = readFileSync(path);
  readFileSync(from).copy(bytes, at, at, at + 4_096);
  writeFileSync(path, bytes);
}

/** Damages an index or a table that has one page: another text is in place of one, as after a bad bit. */
export function changePage(path: string, name: string, from: string, to: string): void {
  const { rootpage } = rootOf(path, name);
  const bytes = readFileSync(path);
  const at = bytes.indexOf(from, (rootpage - 1) * 4_096);
  if (at < 0 || at >= rootpage * 4_096) throw new Error(`${from} is not in ${name}`);
  bytes.write(to, at);
  writeFileSync(path, bytes);
}

/** Damages an index or a table that has one page: two of its entries are in each other's place. */
export function swapEntries(path: string, name: string, one: number, other: number): void {
  changePlaces(path, name, [one, other], ([first, second]) => [second!, first!]);
}

/** Damages an index or a table that has one page: it has one of its entries twice, and lacks another. */
export function repeatEntry(path: string, name: string, repeated: number, lost: number): void {
  changePlaces(path, name, [repeated, lost], ([first]) => [first!, first!]);
}

function changePlaces(path: string, name: string, entries: number[], change: (places: number[]) => number[]): void {
  const { rootpage } = rootOf(path, name);
  const bytes = readFileSync(path);
  const at = entries.map((entry) => (rootpage - 1) * 4_096 + 8 + 2 * entry); // behind the head of a leaf
  const changed = change(at.map((place) => bytes.readUInt16BE(place)));
  for (const [index, place] of at.entries()) bytes.writeUInt16BE(changed[index]!, place);
  writeFileSync(path, bytes);
}

function rootOf(path: string, name: string): { rootpage: number; type: string } {
  return inDatabase(path, (database) => {
    database.pragma("wal_checkpoint(TRUNCATE)");
    const read = "SELECT rootpage, type FROM sqlite_master WHERE name = ?";
    return database.prepare<[string], { rootpage: number; type: string }>(read).get(name)!;
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

/** Every row of every table, derived or not, but where the scrub is: it goes as far as time allows. */
export function allRows(path: string): string[] {
  return inDatabase(path, (database) => {
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .pluck()
      .all();
    const rows = tables.flatMap((table) => rowsOf(database, `"${table}"`));
    return rows.filter((row) => !row.startsWith(`"store_settings": 'scrub'`));
  });
}

/** Sorted, because rows have no order of their own. */
export function rowsOf(database: Database.Database, table: string): string[] {
  const columns = database.prepare(`SELECT * FROM ${table} LIMIT 0`).columns();
  const values = columns.map(({ name }) => `quote("${name}")`).join(" || ',' || ");
  return database.prepare<[], string>(`SELECT '${table}: ' || ${values} FROM ${table}`).pluck().all().sort();
}
