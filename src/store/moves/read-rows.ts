import { StoreError } from "../../core/errors.ts";
import { isNestedDeeper } from "../../core/json.ts";
import { JSON_DEPTH_MAX } from "../../core/limits.ts";
import { printableJson } from "../../core/markup.ts";
import type { FactRow, FactTables, RowsFrom } from "../facts/fact-rows.ts";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";

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

// A title and items are overwritten in place, so rows that come from elsewhere may be older or newer than those of the store.

export interface Changeable {
  title: string | null;
  items: readonly FactTables["items"][];
}

export function changeableIn({ sessions, factRows }: Repositories, sessionId: string): Changeable | undefined {
  const session = sessions.byId(sessionId);
  return session && { title: session.title, items: factRows.itemsOf(sessionId) };
}

/**
 * Merges titles and items: the title is the one that came, and the items are those of both, with the values that came.
 *
 * @returns also what was replaced, in sentences.
 */
export function mergedOf(own: Changeable, came: Changeable): Changeable & { notes: string[] } {
  const notes: string[] = [];
  const title = came.title ?? own.title;
  if (own.title !== null && own.title !== title) {
    notes.push(`The title "${own.title}" of this store was replaced with the one that came.`);
  }
  const lines = new Map(came.items.map((row) => [nameOf(row), rowText({ table: "items", row })]));
  for (const row of own.items) {
    const line = lines.get(nameOf(row));
    if (line !== undefined && line !== rowText({ table: "items", row })) {
      notes.push(`The item "${row.key}" of this store was replaced with the one that came.`);
    }
  }
  return { title, items: [...came.items, ...own.items.filter((row) => !lines.has(nameOf(row)))], notes };
}

/** Gives a session a title and items. @returns what could not be taken over, in sentences. */
export function putChangeable(repositories: Repositories, sessionId: string, { title, items }: Changeable): string[] {
  const { sessions, factRows } = repositories;
  const before = sessions.known(sessionId);
  if (title !== null && title !== before.title) sessions.rename(sessionId, title);
  factRows.deleteItemsOf(sessionId);
  return items.flatMap((row) => {
    const isWritten = factRows.insertUnlessThere("items", { ...row, id: null });
    return isWritten ? [] : [`The item "${row.key}" stays as it is in this store.`];
  });
}

function nameOf({ namespace, key }: FactTables["items"]): string {
  return JSON.stringify([namespace, key]);
}

/** @throws {StoreError} `SESSION_NOT_FOUND`; `SESSION_SUPERSEDED` for a branch; `SESSION_SHARED` for a fork, whose past is in rows of other sessions. */
export function movable({ sessions, paths }: Repositories, sessionId: string): SessionRow {
  const session = sessions.existing(sessionId);
  paths.assertWhole(sessionId);
  return session;
}

/**
 * Yields the facts of a session and of its branches, so that `writeSession` can write them into another store. Use it up inside one
 * `database.read`, so that all rows are of one snapshot.
 *
 * The rows are of the generation in use: handles of log positions before a `reembed` do not move. Nor do subjects, which belong to
 * a store, and claims, which belong to a process.
 *
 * @param from  Leaves out earlier messages of the path, and earlier rows of the log. Everything else is whole.
 * @throws {StoreError} those of `movable`; `STORE_CORRUPT`.
 */
export function* sessionRows(
  repositories: Repositories,
  sessionId: string,
  storeId: string | null,
  from: RowsFrom = { seq: 0, position: 0 },
): Generator<FactRow> {
  const { generations, factRows: rows, tombstones } = repositories;
  movable(repositories, sessionId);
  const generation = generations.newest();
  if (generation === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  const { embedderId, dimension } = generation;
  rows.assertWhole();
  const newestId = rows.newestId({ id: sessionId });
  const tombstoneKey = tombstones.key() ?? null;
  yield { table: "origin", row: { storeId, embedderId, dimension, newestId, tombstoneKey } };
  yield* rows.of(sessionId, generation, from);
  for (const row of tombstones.ofSession(sessionId)) yield { table: "tombstones", row };
}
