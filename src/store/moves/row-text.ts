import { StoreError } from "../../core/errors.ts";
import { printableJson } from "../../core/markup.ts";
import type { FactRow } from "../facts/fact-rows.ts";

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
    if (typeof value !== "object" || value === null) continue;
    if (typeof value.base64 !== "string")
      throw new StoreError("ROWS_INVALID", { reason: `${key} has no bytes in base64` });
    (row as Record<string, unknown>)[key] = Buffer.from(value.base64, "base64");
  }
  return { table, row } as unknown as FactRow;
}
