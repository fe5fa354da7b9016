import { setImmediate as nextTurn } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { StoreError } from "../core/errors.ts";
import { integrityFaults, isOfPages } from "./integrity-faults.ts";
import type { StoreDatabase } from "./open.ts";
import type { Repositories } from "./repositories.ts";
import { SEALED } from "./row-check.ts";
import { partialIndexProblems } from "./verify-indexes.ts";

const FAULTS_MAX = 20;
const NAMED_MAX = 3;

const CURSOR = "scrub";
const SLICE_MS = 4;
/** With fewer, each would take longer. */
const PART_ROWS = 100;

/** Where the next slice begins. */
interface Cursor {
  table: string;
  after: number;
}

/**
 * Does a slice of the scrub, which takes a few milliseconds. If the store may be damaged, does all of it.
 *
 * The scrub compares rows with their checksums, and looks each up in the indexes of its table. `verify` also finds what an index has
 * and its table lacks, and compares the words.
 *
 * @throws {StoreError} `STORE_CORRUPT` with what it finds.
 */
export async function scrub(repositories: Repositories, signal: AbortSignal): Promise<void> {
  const { database, settings } = repositories;
  const found = new Set<string>();
  let isWhole = false;
  for (;;) {
    const isSuspect = database.isSuspect || found.size > 0;
    if (isSuspect && !isWhole) database.write("upkeep", () => settings.delete(CURSOR));
    isWhole ||= isSuspect;
    const { problems, isLast } = scrubSlice(repositories);
    for (const problem of problems) found.add(problem);
    if (isWhole ? isLast : found.size === 0) break;
    await nextTurn();
    signal.throwIfAborted();
  }
  database.isSuspect = false;
  if (found.size > 0) throw new StoreError("STORE_CORRUPT", { path: database.path, reason: listed([...found]) });
}

function listed(problems: readonly string[]): string {
  const more = problems.length > NAMED_MAX ? ["…"] : [];
  return [...problems.slice(0, NAMED_MAX), ...more].join("; ");
}

/** Does the next slice. @returns also whether it came to the end of the last table. */
function scrubSlice({ database, settings }: Repositories): { problems: string[]; isLast: boolean } {
  const stored = database.read(() => settings.get(CURSOR)) as Cursor | undefined;
  const found = SEALED.findIndex((table) => getTableName(table) === stored?.table);
  let [index, after] = found === -1 ? [0, -1] : [found, stored!.after];
  const problems: string[] = [];
  const deadlineMs = performance.now() + SLICE_MS;
  do {
    const part = scrubPart(database, SEALED[index]!, after);
    problems.push(...part.problems);
    after = part.last ?? -1;
    if (part.last === undefined) index += 1;
  } while (index < SEALED.length && performance.now() < deadlineMs);
  const isLast = index === SEALED.length;
  const next: Cursor = { table: getTableName(SEALED[isLast ? 0 : index]!), after };
  database.write("upkeep", () => settings.set(CURSOR, next));
  return { problems, isLast };
}

/** After a page that cannot be read, the rest of the table is left to `verify`. */
function scrubPart(
  database: StoreDatabase,
  table: SQLiteTable,
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
