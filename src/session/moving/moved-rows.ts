import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { StoreError } from "../../core/errors.ts";
import { actionsOfStep } from "../../models/actions.ts";
import { hashingEmbedder } from "../../models/hashing-embedder.ts";
import { searchWords } from "../../models/search-words.ts";
import { TITLES } from "../../models/title.ts";
import {
  type FactRow,
  freeIdBlock,
  idBlockOf,
  movable,
  type Repositories,
  rowOfText,
  rowText,
  sessionRows,
  storeIdOf,
  takeIdBlock,
  type WriteRowsTerms,
  type WrittenSession,
  writeSession,
} from "../../store/index.ts";
import { type ExportOptions, sessionsInOrder } from "./export.ts";

// The file: a line that names the format, the rows of each session, and a line with the digest of all lines before it.

const FORMAT = "coppice-rows";
const VERSION = 1;

const CHUNK_BYTES = 1 << 20;

/** No row is longer: V8 cannot hold such a text. */
const LINE_BYTES_MAX = 500_000_000;

/** What became of one session of a file. */
export interface ImportedRows {
  sessionId: string;
  /**
   * `new`; `continued` if the store had an earlier state; `known` if the store has all of it, and perhaps more; `refused` if
   * nothing of it was written.
   */
  outcome: WrittenSession["outcome"] | "refused";
  /** The messages that came, with superseded ones. */
  newCount: number;
  /** Copies of messages that were forgotten here. They are left out. */
  forgottenCount: number;
  /** What could not be taken over, in sentences. */
  notes: string[];
  /** Why it was refused. */
  error: StoreError | null;
}

export const WRITE_TERMS: WriteRowsTerms = {
  ...TITLES,
  searchWords,
  actionsOf: actionsOfStep,
  localEmbedder: hashingEmbedder,
};

/**
 * Yields the lines of a file. The rows of each session are of one snapshot.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`, `STORE_CORRUPT`; `SESSION_SHARED` for a fork, before the first line.
 */
export function* rowLines(
  repositories: Repositories,
  options: Pick<ExportOptions, "sessions" | "ownIds">,
): Generator<string> {
  const { database } = repositories;
  const asked = sessionsInOrder(repositories, options).map(({ id }) => id);
  database.read(() => {
    repositories.factRows.assertWhole();
    for (const id of asked) movable(repositories, id);
  });
  const storeId = storeIdOf(repositories);
  if (options.ownIds) database.write("export", () => useOwnIds(repositories));
  const digest = createHash("sha256");
  const next = (line: string): string => {
    digest.update(line).update("\n");
    return line;
  };
  yield next(JSON.stringify({ format: FORMAT, version: VERSION, storeId, sessionCount: asked.length }));
  for (const id of asked) {
    yield* database.read(() => Array.from(sessionRows(repositories, id, storeId), rowText)).map(next);
  }
  yield JSON.stringify({ end: FORMAT, sha256: digest.digest("hex") });
}

/** Makes a store that takes part in exchanges give all new ids from a block of its own, which no other store uses. */
function useOwnIds(repositories: Repositories): void {
  const { sequences } = repositories;
  if (idBlockOf(repositories).block === 0) takeIdBlock(repositories, freeIdBlock(sequences.newest()));
}

/**
 * Writes the sessions of a file into the store, each in one transaction. The whole file is read before the first of them.
 *
 * @throws {StoreError} `ROWS_INVALID`, `FORMAT_UNSUPPORTED`, `FILE_NOT_FOUND`, `FILE_NOT_USABLE`: nothing was written.
 *   `STORE_READONLY`, `STORE_BUSY`.
 */
export function importRowsOf(repositories: Repositories, path: string): ImportedRows[] {
  repositories.database.assertWritable("importRows");
  checkFile(path);
  const rows = numberedRows(path);
  const results: ImportedRows[] = [];
  for (let next = rows.next(); !next.done; ) {
    const session = { sessionId: "", next };
    try {
      const written = writeSession(repositories, rowsOfSession(rows, session), WRITE_TERMS);
      results.push({ ...written, error: null });
    } catch (error) {
      const isOfSession = StoreError.is(error) && REFUSALS.has(error.code);
      if (!isOfSession) throw error;
      results.push({ sessionId: session.sessionId, outcome: "refused", ...NOTHING, error });
      for (const _ of rowsOfSession(rows, session));
    }
    next = session.next;
  }
  return results;
}

const NOTHING = { newCount: 0, forgottenCount: 0, notes: [] };

const REFUSALS: ReadonlySet<string> = new Set([
  "ID_TAKEN",
  "SESSION_DIVERGED",
  "SESSION_FORGOTTEN",
  "SESSION_SUPERSEDED",
  "SESSION_SHARED",
  "EMBEDDER_MISMATCH",
  "ROWS_INVALID",
]);

/** Yields the rows from one `origin` to before the next one. It may be continued by another call. */
function* rowsOfSession(
  rows: Iterator<FactRow>,
  at: { sessionId: string; next: IteratorResult<FactRow> },
): Generator<FactRow> {
  let count = at.sessionId === "" ? 0 : 1;
  while (!at.next.done && (count === 0 || at.next.value.table !== "origin")) {
    const given = at.next.value;
    if (count === 1 && given.table === "sessions") at.sessionId ||= given.row.id;
    count += 1;
    at.next = rows.next();
    yield given;
  }
}

function* numberedRows(path: string): Generator<FactRow> {
  let number = 0;
  for (const line of fileLines(path)) {
    number += 1;
    if (number > 1 && !line.startsWith('{"end":')) yield rowOfText(line);
  }
}

/** Reads the whole file once. @throws {StoreError} `ROWS_INVALID`, `FORMAT_UNSUPPORTED`. */
function checkFile(path: string): void {
  const refuse = (reason: string, line: number): never => {
    throw new StoreError("ROWS_INVALID", { path, line, reason });
  };
  const digest = createHash("sha256");
  let number = 0;
  let end: string | undefined;
  for (const line of fileLines(path)) {
    number += 1;
    if (end !== undefined) refuse("it goes on after its end", number);
    const { format, version, end: ended, sha256 } = objectOf(line) ?? refuse("it is not a line of JSON", number);
    if (number === 1 && format !== FORMAT) refuse("it does not begin as `coppice export --rows` writes it", 1);
    if (number === 1 && version !== VERSION) {
      throw new StoreError("FORMAT_UNSUPPORTED", {
        path,
        reason: `its format is ${String(version)}, and this version reads ${VERSION}`,
      });
    }
    if (ended !== undefined) end = String(sha256);
    else digest.update(line).update("\n");
  }
  if (end === undefined) refuse("it is cut off: its last line is missing", number);
  if (end !== digest.digest("hex")) refuse("it was changed after it was written: its digest differs", number);
}

function objectOf(line: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Yields the lines of a file. It is synchronous, because it runs inside a transaction. */
function* fileLines(path: string): Generator<string> {
  const file = attempted(path, () => openSync(path, "r"));
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let parts: Buffer[] = [];
    let byteLength = 0;
    for (;;) {
      const count = attempted(path, () => readSync(file, chunk));
      if (count === 0) break;
      for (let from = 0; from < count; ) {
        const found = chunk.subarray(0, count).indexOf(0x0a, from);
        const part = chunk.subarray(from, found === -1 ? count : found);
        parts.push(Buffer.from(part));
        byteLength += part.length;
        if (byteLength > LINE_BYTES_MAX)
          throw new StoreError("ROWS_INVALID", { path, reason: "one of its lines is too long" });
        from += part.length + 1;
        if (found === -1) break;
        yield Buffer.concat(parts).toString();
        parts = [];
        byteLength = 0;
      }
    }
    if (byteLength > 0) yield Buffer.concat(parts).toString();
  } finally {
    closeSync(file);
  }
}

function attempted<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new StoreError("FILE_NOT_FOUND", { path });
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `it cannot be read (${code})` }, { cause });
  }
}
