import type { StoreDatabase } from "../file/open.ts";
import { indexesOf, isOfPages } from "../sql/row-check.ts";
import { isOfFullText } from "./verify-full-text.ts";

type Client = StoreDatabase["client"];

/** What `integrity_check` says of an index that can be read, and has other rows than its table. */
const DIFFERS = /(?:missing from|# of entries in|values differ from|rows belong in|of) index (\S+)$/;

/** Compares partial indexes with their tables. SQLite finds the rows that one lacks, but not those that do not belong in it. */
export function partialIndexProblems(client: Client): string[] {
  const indexes = client
    .prepare<[], { name: string; tableName: string; condition: string }>(
      `SELECT name, tbl_name AS tableName, substr(sql, instr(sql, ' WHERE ') + 7) AS condition
      FROM sqlite_schema WHERE type = 'index' AND instr(sql, ' WHERE ') > 0 ORDER BY name`,
    )
    .all();
  return indexes.flatMap(({ name, tableName, condition }) => {
    const entries = countOf(client, `"${tableName}" INDEXED BY "${name}" WHERE ${condition}`);
    const rows = countOf(client, `"${tableName}" NOT INDEXED WHERE ${condition}`);
    return entries === rows ? [] : [`${entries} rows are in, and ${rows} rows belong in index ${name}`];
  });
}

/**
 * Returns the indexes that differ from their tables and can be made again. There are none if a page is broken: emptying an index
 * frees its pages, and they could be those of a table. If a table has fewer rows than its indexes, it has lost them, and the
 * indexes are left to show it. So they are if an entry may have got another position.
 */
export function rebuildableIndexes(client: Client, problems: readonly string[]): string[] {
  if (problems.some(isOfPages)) return [];
  const names = problems.filter((text) => !isOfFullText(text)).map((text) => DIFFERS.exec(text)?.[1]);
  const tableOf = client.prepare<[name: string], string>("SELECT tbl_name FROM sqlite_schema WHERE name = ?").pluck();
  return [...new Set(names)].filter((name) => {
    const table = name === undefined ? undefined : tableOf.get(name);
    return table !== undefined && !hasLostRows(client, table) && !(table === "entries" && hasMovedEntry(client));
  }) as string[];
}

function hasLostRows(client: Client, table: string): boolean {
  const indexes = client
    .prepare<[table: string], string>("SELECT name FROM pragma_index_list(?) WHERE partial = 0")
    .pluck()
    .all(table);
  const rowCount = countOf(client, `"${table}" NOT INDEXED`);
  const counts = indexes.map((name) => countOf(client, `"${table}" INDEXED BY "${name}"`));
  return counts.some((count) => count > rowCount) && !counts.includes(rowCount);
}

/** True if an entry is in no index, and an index names one that is not there. No checksum covers the position of an entry. */
function hasMovedEntry(client: Client): boolean {
  const idsIn = (rows: string): Set<number> =>
    new Set(client.prepare<[], number>(`SELECT id FROM entries ${rows}`).pluck().all());
  const stored = idsIn("NOT INDEXED");
  const indexed = indexesOf(client, "entries").flatMap(({ name, condition }) => [
    ...idsIn(`INDEXED BY "${name}" WHERE ${condition ?? "true"}`),
  ]);
  const known = new Set(indexed);
  return indexed.some((id) => !stored.has(id)) && [...stored].some((id) => !known.has(id));
}

function countOf(client: Client, rows: string): number {
  return client.prepare<[], number>(`SELECT count(*) FROM ${rows}`).pluck().get()!;
}
