import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";

type Row = ReturnType<Store["query"]>[number];
type Value = Row[string];

/** `sql` asks the store a question in SQL. Whatever is typed, nothing is written. */
export const sql: Command = {
  name: "sql",
  summary: "Run one SQL query that only reads.",
  details:
    "A table shows text on one line and a blob as its size. With --json: an array of row objects, blobs as base64.",
  arguments: [{ name: "<query>", meaning: "SELECT, WITH, VALUES or EXPLAIN, in quotes" }],
  examples: ['"SELECT role, count(*) FROM messages GROUP BY role"', '"SELECT * FROM session_stats" --json'],

  run({ args: [query], stores, terminal }) {
    const rows = stores.openToRead().query(query!);
    return { value: rows.map(jsonRow), lines: lines(rows, terminal) };
  },
};

function jsonRow(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, jsonValue(value)]));
}

function jsonValue(value: Value): string | number | null {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value instanceof Uint8Array ? value.toString("base64") : value;
}

function* lines(rows: readonly Row[], terminal: Terminal): Generator<string> {
  if (rows.length === 0) {
    terminal.note("No rows.");
    return;
  }
  const columns = Object.keys(rows[0]!).map((name): Column<Row> => {
    const isNumber = rows.every(
      (row) => typeof row[name] === "number" || typeof row[name] === "bigint" || row[name] === null,
    );
    return {
      header: oneLine(name),
      text: (row) => cell(row[name]!),
      align: isNumber ? "right" : "left",
      ...(isNumber ? {} : { widthMin: 8 }),
    };
  });
  yield* tableLines(columns, rows, terminal);
}

function cell(value: Value): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `blob, ${formatCount(value.byteLength, "byte")}`;
  return typeof value === "string" ? oneLine(value) : String(value);
}
