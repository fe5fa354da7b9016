import { StoreError } from "../../core/errors.ts";
import type { OpenedStore } from "../../session/opened-store.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { wrapped } from "../screen/wrap.ts";

type Row = ReturnType<Store["query"]>[number];
type Value = Row[string];

/** Lists tables and views, without those of SQLite itself, of migrations and of the full-text index. */
const TABLES_QUERY = `SELECT name, type FROM sqlite_schema
  WHERE type IN ('table', 'view') AND name NOT GLOB '*sqlite_*' AND name NOT GLOB '__*' AND name NOT GLOB 'messages_fts_*'
  ORDER BY type DESC, name`;

const INDENT = "  ";

interface Table {
  name: string;
  kind: string;
  columns: string[];
}

export const sqlCommand: Command = {
  usage: "sql [query]",
  summary: "Run one read-only SQL query, or list the tables and views.",
  details:
    "Without a query, it lists the views, the tables, and their columns. A table shows text on one line and a blob as its size. A pipe gets a tab between columns. Rows are printed as they are " +
    "found, however many. With --json: an array of row objects, blobs as base64.",
  argument: "SELECT, WITH, VALUES or EXPLAIN, in quotes",
  examples: ['"SELECT role, count(*) FROM messages GROUP BY role"', '"SELECT * FROM session_stats" --json', ""],

  async run({ args: [query], loadStores, terminal }) {
    const stores = await loadStores();
    const { internalsOf } = await import("../../session/opened-store.ts"); // loaded by now
    const store = internalsOf(stores.openToRead());
    if (query === undefined) {
      const tables = tablesOf(store);
      return { value: tables, lines: schemaLines(tables, terminal) };
    }
    const rows = queryRows(store, query);
    return { elements: jsonRows(rows), lines: tableLines(tableColumns, rows, terminal) };
  },
};

/** @throws {Failure} with the tables or columns if the query names an unknown one. */
function* queryRows(store: OpenedStore, query: string): Generator<Row> {
  try {
    yield* store.queryRows(query);
  } catch (error) {
    if (!StoreError.is(error, "QUERY_REFUSED")) throw error;
    const hint = nameHint(store, query, error.details.reason) ?? error.hint;
    throw new Failure(error.code, error.message, { hint, cause: error });
  }
}

function nameHint(store: Store, query: string, reason: string): string | undefined {
  const [, kind] = /^no such (table|column): /.exec(reason) ?? [];
  if (kind === undefined) return undefined;
  const tables = tablesOf(store);
  if (kind === "table") return `The tables and views: ${tables.map(({ name }) => name).join(", ")}.`;
  const words = new Set(query.toLowerCase().match(/\w+/g));
  const named = tables.filter(({ name }) => words.has(name));
  return named.map(({ name, columns }) => `${name} has ${columns.join(", ")}.`).join("\n");
}

function tablesOf(store: Store): Table[] {
  return store.query(TABLES_QUERY).map((row) => {
    const name = String(row.name);
    const columns = store.query(`SELECT name FROM pragma_table_xinfo('${name}') WHERE hidden <> 1`);
    return { name, kind: String(row.type), columns: columns.map((column) => String(column.name)) };
  });
}

function* schemaLines(tables: readonly Table[], terminal: Terminal): Generator<string> {
  if (terminal.width === undefined) yield "name\tkind\tcolumns";
  for (const { name, kind, columns } of tables) {
    if (terminal.width === undefined) {
      yield [name, kind, columns.join(", ")].join("\t");
    } else {
      yield `${terminal.style("bold", name)}  ${terminal.style("dim", kind)}`;
      const lines = wrapped(columns.join(", "), terminal.width - INDENT.length).split("\n");
      yield* lines.map((line) => INDENT + line);
    }
  }
}

function* jsonRows(rows: Iterable<Row>): Generator<Record<string, unknown>> {
  for (const row of rows) {
    yield Object.fromEntries(Object.entries(row).map(([name, value]) => [name, jsonValue(value)]));
  }
}

function jsonValue(value: Value): string | number | null {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value instanceof Uint8Array ? value.toString("base64") : value;
}

function tableColumns(rows: readonly Row[]): Column<Row>[] {
  return Object.keys(rows[0]!).map((name) => {
    const isNumber = rows.every(
      (row) => typeof row[name] === "number" || typeof row[name] === "bigint" || row[name] === null,
    );
    return {
      header: oneLine(name),
      value: (row) => cellText(row[name]!),
      align: isNumber ? "right" : "left",
      ...(isNumber ? {} : { widthMin: 8 }),
    };
  });
}

/** Writes a value. Numbers get no separators, because they may be ids. */
function cellText(value: Value): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `blob, ${formatCount(value.byteLength, "byte")}`;
  return typeof value === "string" ? oneLine(value) : String(value);
}
