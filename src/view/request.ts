import * as z from "zod/mini";
import { type ObjectSchema, parseArguments, text, whole } from "../core/schema.ts";

/** A whole number in a query string. */
export function wholeText(min: number, max = Number.MAX_SAFE_INTEGER) {
  const number = z.transform((given: string) => (/^-?\d+$/.test(given) ? Number(given) : Number.NaN));
  return z.pipe(z.pipe(text(), number), whole(min, max));
}

/** 1 for true in a query string. */
export function yesText() {
  return z.pipe(
    text(),
    z.transform((given: string) => given === "1" || given === "true"),
  );
}

/** Parses the query string of a request. Empty values count as left out. @throws {StoreError} `OPTION_INVALID`. */
export function queryOf<S extends ObjectSchema>(schema: S, parameters: URLSearchParams): z.output<S> {
  const given = Object.fromEntries([...parameters].filter(([, value]) => value !== ""));
  return parseArguments(schema, given, "a parameter", "the parameters") as z.output<S>;
}
