import { StoreError } from "../core/errors.ts";
import type { Store } from "../index.ts";

export type Row = ReturnType<Store["query"]>[number];

/** Returns the text of a statement. Values become literals, so that a person can run the same statement. */
export function sql(text: TemplateStringsArray, ...values: (string | number | null | Fragment)[]): string {
  const written = String.raw({ raw: text }, ...values.map(literal));
  return written.replace(/\s*\n\s*/g, "\n").trim();
}

/** SQL that becomes part of a statement as it is. */
export class Fragment {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function literal(value: string | number | null | Fragment): string {
  if (value instanceof Fragment) return value.text;
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (value.includes("\0")) throw new StoreError("QUERY_REFUSED", { reason: "a text has a NUL character" });
  return `'${value.replaceAll("'", "''")}'`;
}
