import * as z from "zod/mini";
import english from "zod/v4/locales/en.js";
import { StoreError } from "./errors.ts";
import { ID_CHARS_MAX } from "./limits.ts";
import { once } from "./once.ts";
import { didYouMean } from "./suggestion.ts";

// The options of each operation are one strict zod object, which checks, types and describes them. The error texts below
// complete the sentence "Expected limit to be …". zod/mini is used because zod takes 25 ms longer to load.

type Schema<T = unknown> = z.ZodMiniType<T>;
export type ObjectSchema = z.ZodMiniObject;

/** The fields of a schema for options of type `T`. The compiler compares their names and types. */
export type FieldsOf<T> = { readonly [K in keyof T]-?: z.core.$ZodType<T[K] | undefined> };

export function whole(min: number, max = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  const error = { error: `a whole number ${range}` };
  // SQLite's driver refuses -0.
  return z.int(error).check(
    z.gte(min, error),
    z.lte(max, error),
    z.overwrite((value) => (value === 0 ? 0 : value)),
  );
}

/** A number that need not be whole. */
export function share(min: number, max: number) {
  const error = { error: `a number from ${min} to ${max}` };
  return z.number(error).check(z.gte(min, error), z.lte(max, error));
}

export function oneWordOf<const W extends readonly string[]>(words: W) {
  return z.enum(words, { error: `one of ${words.join(", ")}` });
}

export function trueOrFalse() {
  return z.boolean({ error: "true or false" });
}

export function text() {
  return z.string({ error: "text" });
}

/** An id, a project or a title. */
export function identifier() {
  const error = { error: `a text of 1 to ${ID_CHARS_MAX} characters without control characters` };
  const isUsable = (value: string) => value.isWellFormed() && !/[\0-\x1f]/.test(value);
  return z.string(error).check(z.minLength(1, error), z.maxLength(ID_CHARS_MAX, error), z.refine(isUsable, error));
}

export function unixMs() {
  return z.number({ error: "a time in Unix milliseconds" });
}

export function listOf<S extends Schema>(items: S) {
  const isList = (value: unknown) => Array.isArray(value) && !hasHoles(value);
  // Only zod's copy is made read-only. A refused value belongs to the caller, so it must not be frozen.
  return z.pipe(z.custom<readonly z.input<S>[]>(isList, { error: "a list" }), z.readonly(z.array(items)));
}

/** `hasHoles` looks only at lists that are longer. A loop over fewer items ends soon. */
const HOLES_LENGTH_MIN = 10_000;

/** Returns true for a long list with holes. A loop over `new Array(2 ** 32 - 1)` would take minutes. */
export function hasHoles(list: readonly unknown[]): boolean {
  return list.length > HOLES_LENGTH_MIN && Object.keys(list).length < list.length;
}

// biome-ignore lint/suspicious/noExplicitAny: a function of any parameters.
export function callback<F extends (...given: any[]) => unknown>() {
  return z.custom<F>((value) => typeof value === "function", { error: "a function" });
}

export function abortSignal() {
  return z.custom<AbortSignal>((value) => value instanceof AbortSignal, { error: "an AbortSignal" });
}

/**
 * An object that the caller implements, such as an embedder.
 *
 * @param expected  What it is, for the error.
 * @param fields  The types of its required fields.
 */
export function port<T extends object>(
  expected: string,
  fields: { readonly [K in keyof T]?: "function" | "string" | "number" },
) {
  const namesOf = (value: unknown): unknown[] =>
    Object.keys(fields)
      .map((name) => (value as Record<string, unknown> | null | undefined)?.[name])
      .filter((field) => typeof field === "string");
  const isStorable = (value: unknown): boolean => namesOf(value).every((name) => (name as string).isWellFormed());
  const hasFields = (value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(([name, type]) => typeof (value as Record<string, unknown>)[name] === type);
  return z.custom<T>((value) => hasFields(value) && isStorable(value), {
    // Names are stored in text columns, and SQLite's text has no lone surrogates.
    error: ({ input }) => (isStorable(input) ? expected : `${expected}, without half of a surrogate pair`),
  });
}

const messages = once(() => ({ error: english().localeError }));

/** Parses a value. Issues without a message get zod's English one, which zod/mini lacks. */
export function safeParse<S extends z.ZodMiniType>(schema: S, value: unknown) {
  return z.safeParse(schema, value, messages());
}

export function firstIssue(schema: z.ZodMiniType, value: unknown): z.core.$ZodIssue | undefined {
  return safeParse(schema, value).error?.issues[0];
}

/** `T` without undefined fields: an option that was given as undefined counts as left out. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Checks options, and adds the defaults of those that were left out. @throws {StoreError} `OPTION_INVALID` for the first invalid option. */
export function parseOptions<S extends ObjectSchema>(operation: string, schema: S, given: unknown): Given<z.output<S>> {
  return parseArguments(schema, given, `an option of ${operation}`, `the options of ${operation}`);
}

/**
 * Checks arguments, and adds the defaults of those that were left out.
 *
 * @param one  How the error names an unknown argument.
 * @param all  How the error names arguments that are not an object.
 * @throws {StoreError} `OPTION_INVALID` for the first invalid argument.
 */
export function parseArguments<S extends ObjectSchema>(
  schema: S,
  given: unknown,
  one = "an argument",
  all = "the arguments",
): Given<z.output<S>> {
  const result = parseGiven(all, schema, given);
  if (result.success) return result.data as Given<z.output<S>>;
  const issue = result.error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(schema.shape);
    const actual = issue.keys[0]!;
    const fix = didYouMean(actual, known);
    const details = { option: one, expected: `one of ${known.join(", ")}`, actual };
    throw new StoreError("OPTION_INVALID", fix === "" ? details : { ...details, fix });
  }
  const option = issue.path.join(".") || all;
  const expected = option === all ? "an object" : expectedBy(issue);
  const actual = issue.path.reduce((value: unknown, key) => (value as Record<PropertyKey, unknown>)?.[key], given);
  throw new StoreError("OPTION_INVALID", { option, expected, actual });
}

/** Returns the end of the sentence "Expected … to be …". Some issues have zod's own messages. */
function expectedBy({ message }: z.core.$ZodIssue): string {
  const [, type] = /^Invalid input: expected (.*), received/.exec(message) ?? [];
  if (type !== undefined) return `of type ${type}`;
  return /^[A-Z]/.test(message) ? `valid (${message})` : message;
}

/** Checks and returns a single value. @throws {StoreError} `OPTION_INVALID` with the name. */
export function parseValue<S extends Schema>(name: string, schema: S, value: unknown): z.output<S> {
  const result = parseGiven(name, schema, value);
  if (result.success) return result.data;
  const expected = expectedBy(result.error.issues[0]!);
  throw new StoreError("OPTION_INVALID", { option: name, expected, actual: value });
}

/** @throws {StoreError} `OPTION_INVALID` if a getter or a proxy in the value throws. */
function parseGiven<S extends Schema>(name: string, schema: S, value: unknown) {
  try {
    return safeParse(schema, value);
  } catch (cause) {
    throw new StoreError("OPTION_INVALID", { option: name, expected: "readable", actual: value }, { cause });
  }
}
