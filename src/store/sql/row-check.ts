import type Database from "better-sqlite3";
import { DamageError } from "../../core/damage.ts";
import { columns, UNSEALED } from "./statement.ts";
import type { Table } from "./tables.ts";

interface IndexName {
  name: string;
  /** SQL: which rows belong in the index; null for all. */
  condition: string | null;
}

interface Damaged {
  damages: string[];
  last: number | undefined;
}

export interface RowRange {
  after: number;
  last: number;
}

/** SQL: the number of rows, and a sum that differs if some have no id, or another one. */
const sumOf = (id: string): string => `count(*) || ' ' || coalesce(sum((${id} * 31) % 1000003), 0)`;

export const SEALED: readonly Table[] = [...UNSEALED.keys()];

/** Compares rows with their checksums, and indexes with the rows of their tables. */
export class RowCheck {
  readonly #client: Database.Database;
  /** The tables and indexes that have been compared in this open store. What is damaged later is noticed when it is opened again. */
  readonly #whole = new Set<string>();

  constructor(client: Database.Database) {
    this.#client = client;
  }

  /**
   * Describes each of some rows of a table whose checksum is wrong.
   *
   * @param after  A row id.
   * @returns also the id of the last row, if there may be more.
   */
  damaged(table: Table, { after, limit } = { after: -1, limit: -1 }): Damaged {
    const whole = columns(table);
    const rows = this.#client.prepare<[after: number, limit: number], Record<string, unknown> & { rowId: number }>(
      `SELECT rowid AS rowId, ${String(whole)} FROM ${table.name} NOT INDEXED
      WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    );
    const damages: string[] = [];
    let [count, last] = [0, after];
    for (const row of rows.iterate(after, limit)) {
      count += 1;
      last = row.rowId;
      const damage = whole.damageOf(row);
      if (damage !== undefined) damages.push(damage);
    }
    return { damages, last: count === limit ? last : undefined };
  }

  /**
   * Compares indexes with their table, so that no list lacks a row, and no row is found by the key of another. Each row is looked up
   * in the index, and each entry of the index in the table. If all are found, both are also in order, because a binary search finds
   * no entry that is out of order. SQLite's `integrity_check` of a table does the same, and also reads every long value.
   *
   * @param only  The name of the index; by default all of the table.
   * @throws {DamageError} if an index lacks rows, has others, or has them under other keys.
   */
  assertWhole(table: Table, only?: string): void {
    const tableName = table.name;
    if (this.#whole.has(only ?? tableName)) return;
    for (const index of indexesOf(this.#client, tableName)) {
      if (only !== undefined && only !== index.name) continue;
      const [rows, found, named] = this.#sumsOf(index, tableName);
      if (rows !== found || rows !== named) {
        throw new DamageError(`index ${index.name} does not have the rows of ${tableName}`);
      }
    }
    this.#whole.add(only ?? tableName);
  }

  /** Names the indexes that lack one of the rows after one row id and up to another, or have it under another key. */
  lacking(table: Table, range: RowRange): string[] {
    const tableName = table.name;
    return indexesOf(this.#client, tableName)
      .filter((index) => {
        const [rows, found] = this.#lookUp(index, tableName, "NOT INDEXED", `INDEXED BY "${index.name}"`, range);
        return rows !== found;
      })
      .map(({ name }) => name);
  }

  /** Sums of the rows that belong in the index, of those that are found in it, and of those that it names and the table has. */
  #sumsOf(index: IndexName, table: string): [string, string, string] {
    const byIndex = `INDEXED BY "${index.name}"`;
    const [rows, found] = this.#lookUp(index, table, "NOT INDEXED", byIndex);
    const [, named] = this.#lookUp(index, table, byIndex, "NOT INDEXED");
    return [rows, found, named];
  }

  /** Sums of rows that are read in one way, and of those among them that are found in the other. */
  #lookUp(
    { name, condition }: IndexName,
    table: string,
    by: string,
    otherBy: string,
    range?: RowRange,
  ): [string, string] {
    const keys = this.#client.prepare<[string], string>("SELECT name FROM pragma_index_info(?)").pluck().all(name);
    const where = `WHERE ${condition ?? "true"}`;
    const inRange = range === undefined ? "" : `AND rowid > ${range.after} AND rowid <= ${range.last}`;
    // Without LIMIT, SQLite would read the keys of an index from the rows.
    const rows = `SELECT rowid AS id${keys.map((key, at) => `, "${key}" AS key${at}`).join("")}
      FROM "${table}" ${by} ${where} ${inRange} LIMIT -1`;
    const isSame = keys.map((key, at) => ` AND "${table}"."${key}" IS k.key${at}`).join("");
    const lookUp = `SELECT 1 FROM "${table}" ${otherBy} ${where} AND "${table}".rowid = k.id${isSame}`;
    const lookedUp = `SELECT id, CASE WHEN EXISTS (${lookUp}) THEN id END AS found FROM (${rows}) k`;
    const statement = `SELECT ${sumOf("id")}, ${sumOf("found")} FROM (${lookedUp})`;
    return this.#client.prepare<[], [string, string]>(statement).raw().get()!;
  }
}

export function indexesOf(client: Database.Database, tableName: string): IndexName[] {
  return client
    .prepare<[string], IndexName>(
      `SELECT name, CASE WHEN instr(sql, ' WHERE ') > 0 THEN substr(sql, instr(sql, ' WHERE ') + 7) END AS condition
      FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?`,
    )
    .all(tableName);
}

/** `FullTextRepository.clear` leaves such pages behind. They take space, and do no harm. */
const UNUSED = /^Page \d+: never used$/;

/** Returns what SQLite finds wrong in a file, at most `max` faults. Those of pages are lines of one text, with a heading. */
export function integrityFaults(
  client: Database.Database,
  check: "integrity_check" | "quick_check",
  max: number,
): string[] {
  const checked = (limit: number): string[] => client.prepare<[], string>(`PRAGMA ${check}(${limit})`).pluck().all();
  const isUnused = (text: string): boolean => text.split("\n").some((line) => UNUSED.test(line));
  const first = checked(max);
  // Unused pages count, so they would hide faults.
  const texts = first.some(isUnused) ? checked(max + (client.pragma("page_count", { simple: true }) as number)) : first;
  const faults = texts
    .filter((text) => text !== "ok")
    .map((text) => {
      const lines = text.split("\n").filter((line) => !UNUSED.test(line));
      return lines.slice(0, max + 1).join("\n");
    });
  return faults.filter((fault) => !isOfPages(fault) || fault.includes("\n")).slice(0, max);
}

/** True for a fault of `integrityFaults` that is of pages. */
export function isOfPages(fault: string): boolean {
  return fault.startsWith("***");
}
