import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../../core/errors.ts";
import type { StoreDatabase } from "../file/open.ts";
import type { Repositories } from "../repositories.ts";
import { integrityFaults, isOfPages, SEALED } from "../sql/row-check.ts";
import type { Table } from "../sql/tables.ts";
import { partialIndexProblems } from "./verify-indexes.ts";

const FAULTS_MAX = 20;
const NAMED_MAX = 3;

const CURSOR = "scrub";
const SLICE_MS = 4;
/** With fewer, each would take longer. */
const PART_ROWS = 100;

/** Where the next slice begins: after a row id of a table. */
interface Cursor {
  table: string;
  after: number;
}

const TABLE_NAMES = SEALED.map((table) => table.name);
const START: Cursor = { table: TABLE_NAMES[0]!, after: -1 };

/**
 * Does a slice of the scrub, which takes a few milliseconds. If the store may be damaged, does all of it. If this process has changed
 * nothing since the last slice, does nothing, so that an import of what is known leaves the file as it is.
 *
 * The scrub compares rows with their checksums, and looks each up in the indexes of its table. `verify` also finds what an index has
 * and its table lacks, and compares the words.
 *
 * @throws {StoreError} `STORE_CORRUPT` with what it finds.
 */
export async function scrub({ database, settings }: Repositories, signal: AbortSignal): Promise<void> {
  if (!database.isSuspect && database.changeCount() === database.changesAtScrub) return;
  let at = (database.read(() => settings.get(CURSOR)) as Cursor | undefined) ?? START;
  const found = new Set<string>();
  let isWhole = false;
  for (;;) {
    const isSuspect = database.isSuspect || found.size > 0;
    if (isSuspect && !isWhole) at = START;
    isWhole ||= isSuspect;
    const { problems, next } = scrubSlice(database, at);
    for (const problem of problems) found.add(problem);
    at = next ?? START;
    if (isWhole ? next === undefined : found.size === 0) break;
    await nextTurn();
    signal.throwIfAborted();
  }
  database.isSuspect = false;
  noteCursor(database, settings, at);
  database.changesAtScrub = database.changeCount();
  if (found.size > 0) throw new StoreError("STORE_CORRUPT", { path: database.path, reason: listed([...found]) });
}

/** If the disk is full or the store locked, the next slice begins where this one did. */
function noteCursor(database: StoreDatabase, settings: Repositories["settings"], at: Cursor): void {
  try {
    database.write("upkeep", () => settings.set(CURSOR, at));
  } catch (error) {
    if (!StoreError.is(error)) throw error;
  }
}

function listed(problems: readonly string[]): string {
  const more = problems.length > NAMED_MAX ? ["…"] : [];
  return [...problems.slice(0, NAMED_MAX), ...more].join("; ");
}

/** @returns also where the next slice begins; undefined at the end of the last table. */
function scrubSlice(database: StoreDatabase, { table, after: from }: Cursor): { problems: string[]; next?: Cursor } {
  let index = Math.max(0, TABLE_NAMES.indexOf(table));
  let after = from;
  const problems: string[] = [];
  const deadlineMs = performance.now() + SLICE_MS;
  do {
    const part = scrubPart(database, SEALED[index]!, after);
    problems.push(...part.problems);
    after = part.last ?? -1;
    if (part.last === undefined) index += 1;
  } while (index < SEALED.length && performance.now() < deadlineMs);
  return index === SEALED.length ? { problems } : { problems, next: { table: TABLE_NAMES[index]!, after } };
}

/** After a page that cannot be read, the rest of the table is left to `verify`. */
function scrubPart(
  database: StoreDatabase,
  table: Table,
  after: number,
): { problems: string[]; last: number | undefined } {
  try {
    return database.read(() => {
      const { damages, last } = database.rowCheck.damaged(table, { after, limit: PART_ROWS });
      const lacking = database.rowCheck.lacking(table, { after, last: last ?? Number.MAX_SAFE_INTEGER });
      return {
        problems: [...damages, ...lacking.map((name) => `index ${name} does not have the rows of its table`)],
        last,
      };
    });
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    return { problems: [error.details.reason], last: undefined };
  }
}

/** Checks everything but the words, and what is derived: the file and all of its rows. */
export function scrubWhole(repositories: Repositories): string[] {
  const { database } = repositories;
  return [...integrityProblems(repositories), ...SEALED.flatMap((table) => database.rowCheck.damaged(table).damages)];
}

/** What SQLite finds wrong in the file, its indexes, and references. */
export function integrityProblems({ database, fullText }: Repositories): string[] {
  const { client } = database;
  try {
    // SQLite checks the full-text index as it was last read, so read it first.
    fullText.anyWord();
  } catch {
    // The checks below report the damage.
  }
  const problems = integrityFaults(client, "integrity_check", FAULTS_MAX);
  if (!problems.some(isOfPages)) problems.push(...partialIndexProblems(client));
  const orphans = client.pragma("foreign_key_check") as { table: string; rowid: number; parent: string }[];
  for (const { table, rowid, parent } of orphans.slice(0, 20)) {
    problems.push(`row ${rowid} of ${table} points to a row of ${parent} that does not exist`);
  }
  return problems;
}
