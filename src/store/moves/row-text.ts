import { StoreError } from "../../core/errors.ts";
import { isNestedDeeper } from "../../core/json.ts";
import { JSON_DEPTH_MAX } from "../../core/limits.ts";
import { printableJson } from "../../core/markup.ts";
import type { FactRow } from "../facts/fact-rows.ts";

/** The columns that hold JSON of callers, which has at most half of these levels when it is appended. */
const JSON_COLUMNS: ReadonlySet<string> = new Set(["parts", "metadata", "settings", "value"]);
const DEPTH_MAX = 2 * JSON_DEPTH_MAX;

type Written = string | number | null | { base64: string };

/** Returns a row as JSON on one line, which a terminal may show. */
export function rowText({ table, row }: FactRow): string {
  const values: Record<string, Written> = {};
  for (const [key, value] of Object.entries(row) as [string, string | number | Buffer | null | undefined][]) {
    if (Buffer.isBuffer(value)) values[key] = { base64: value.toString("base64") };
    else if (value !== undefined) values[key] = value;
  }
  return printableJson({ table, row: values });
}

/** Returns the row of a line. `writeSession` checks its table and its values. @throws {StoreError} `ROWS_INVALID`. */
export function rowOfText(text: string): FactRow {
  let parsed: { table?: unknown; row?: Record<string, Written> } | null;
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch {
    throw new StoreError("ROWS_INVALID", { reason: "it is not a line of JSON" });
  }
  if (typeof parsed?.table !== "string" || typeof parsed.row !== "object" || parsed.row === null) {
    throw new StoreError("ROWS_INVALID", { reason: "it is no row of a table" });
  }
  const { table, row } = parsed;
  for (const [key, value] of Object.entries(row)) {
    if (typeof value === "string" && JSON_COLUMNS.has(key) && isNestedDeeper(value, DEPTH_MAX))
      throw new StoreError("ROWS_INVALID", {
        reason: `${key} of a row of ${table} is nested deeper than ${DEPTH_MAX} levels`,
      });
    if (typeof value !== "object" || value === null) continue;
    if (typeof value.base64 !== "string")
      throw new StoreError("ROWS_INVALID", { reason: `${key} has no bytes in base64` });
    (row as Record<string, unknown>)[key] = Buffer.from(value.base64, "base64");
  }
  return { table, row } as unknown as FactRow;
}
