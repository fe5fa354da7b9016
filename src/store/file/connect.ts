import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../../core/errors.ts";
import { byteLengthOf } from "../../core/files.ts";

/** No SQLite database is smaller than its smallest page (https://sqlite.org/fileformat.html, 1.2). */
const DATABASE_BYTES_MIN = 512;

const COPY_BYTES_MAX = 1_000_000_000;

/** The offset of the header's write and read versions, and their value without a write-ahead log (same page, 1.3). */
const VERSIONS_AT = 18;
const ROLLBACK_JOURNAL = 1;

export interface Connection {
  client: Database.Database;
  /** True if the file was read into memory when it was opened. */
  isCopy: boolean;
}

/**
 * Connects to an existing file, or to memory. A reader gets help in two cases:
 *
 * - SQLite cannot make the two files that it needs beside a store. Then the whole file is read into memory, unless its
 * log has content. (SQLite's `immutable=1` needs URIs, which the driver does not accept.)
 * - The file is shorter than its header says. With `writable_schema`, SQLite reads the pages that exist.
 */
export function connect(file: string, options: { readonly: boolean; busyTimeoutMs: number }): Connection {
  const { readonly, busyTimeoutMs: timeout } = options;
  const client = new Database(file, { readonly, fileMustExist: file !== ":memory:", timeout });
  try {
    firstLook(client);
    return { client, isCopy: false };
  } catch (error) {
    if (readonly && isCode(error, "CORRUPT")) {
      client.unsafeMode(true); // otherwise the next line has no effect
      client.pragma("writable_schema = ON");
      return { client, isCopy: false };
    }
    client.close();
    if (!readonly || !isCode(error, "CANTOPEN|READONLY")) throw error;
    return { client: new Database(contentOf(file, error), { readonly }), isCopy: true };
  }
}

function contentOf(file: string, cause: Error): Buffer {
  const refuse = (reason: string): never => {
    throw new StoreError("FILE_NOT_USABLE", { path: file, reason }, { cause });
  };
  const { size, mtimeMs } = statSync(file);
  const away = "where no file can be made beside it; copy it elsewhere";
  if (holdsLog(file)) refuse(`its write-ahead log cannot be read ${away}, with its log`);
  if (size > COPY_BYTES_MAX) refuse(`it is too large to be read ${away}`);
  const content = readFileSync(file);
  if (statSync(file).mtimeMs !== mtimeMs) throw new StoreError("STORE_BUSY", { path: file }, { cause });
  content.fill(ROLLBACK_JOURNAL, VERSIONS_AT, VERSIONS_AT + 2); // there is no log in memory
  return content;
}

export function firstLook(client: Database.Database): void {
  client.prepare("SELECT count(*) FROM sqlite_master").get();
}

/** @param codes  Codes without `SQLITE_`, separated by `|`. Each matches longer codes that begin with it. */
export function isCode(error: unknown, codes: string): error is Error {
  return error instanceof Database.SqliteError && new RegExp(`^SQLITE_(${codes})`).test(error.code);
}

/** Throws an error that says what is wrong with a path. SQLite always says "unable to open database file". */
export function prepareFile(file: string, readonly: boolean): void {
  if (file !== file.trimEnd()) {
    const reason = "its name ends in white space, which the SQLite driver cuts off: it would open another file";
    throw new StoreError("FILE_NOT_USABLE", { path: file, reason });
  }
  if (existsSync(file)) {
    const stat = statSync(file);
    if (stat.isDirectory()) {
      throw new StoreError("FILE_NOT_USABLE", { path: file, reason: "it is a folder; give the path of a file in it" });
    }
    if (!stat.isFile()) throw new StoreError("FILE_NOT_USABLE", { path: file, reason: "it is not a regular file" });
    const mode = readonly ? constants.R_OK : constants.R_OK | constants.W_OK;
    try {
      accessSync(file, mode);
    } catch (cause) {
      const reason = `no permission to ${readonly ? "read" : "read and write"} it`;
      throw new StoreError("FILE_NOT_USABLE", { path: file, reason }, { cause });
    }
    // SQLite overwrites a file of a few bytes. The file is not read, because closing it releases all our locks on it.
    if (stat.size > 0 && stat.size < DATABASE_BYTES_MIN) {
      throw new StoreError("NOT_A_STORE", { path: file, reason: "it is shorter than any SQLite database" });
    }
    if (stat.size === 0) refuseLogAlone(file);
    return;
  }
  if (readonly) throw new StoreError("FILE_NOT_FOUND", { path: file });
  const folder = dirname(file);
  if (!existsSync(folder)) throw new StoreError("FILE_NOT_FOUND", { path: file, folder });
  refuseLogAlone(file);
  try {
    closeSync(openSync(file, "a", 0o600));
  } catch (cause) {
    const reason = `no file can be created there (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`;
    throw new StoreError("FILE_NOT_USABLE", { path: file, reason }, { cause });
  }
}

/** SQLite would delete a log beside a missing or empty file, with all the messages in it. */
function refuseLogAlone(file: string): void {
  const log = `${file}-wal`;
  const byteLength = byteLengthOf(log);
  if (byteLength === 0) return;
  // Another process may have just created the store. It writes the file before the log.
  if (byteLengthOf(file) > 0) return;
  const reason = `it is missing or empty, and ${log} holds ${byteLength} bytes of it; put it back, or move the log away`;
  throw new StoreError("FILE_NOT_USABLE", { path: file, reason });
}

export function holdsLog(file: string): boolean {
  return byteLengthOf(`${file}-wal`) > 0;
}
