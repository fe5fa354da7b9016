import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../core/errors.ts";
import { byteLengthOf } from "../core/files.ts";

/** The smallest page, and no database is smaller (https://sqlite.org/fileformat.html, 1.2). */
const DATABASE_BYTES_MIN = 512;

/** Most bytes of a file that is read into memory. */
const COPY_BYTES_MAX = 1_000_000_000;

/** The write and read version in the header, and what they are without a write-ahead log (same page, 1.3). */
const VERSIONS_AT = 18;
const ROLLBACK_JOURNAL = 1;

/** An open file, before anyone has looked what it is. */
export interface Connection {
  client: Database.Database;
  /** It is a copy in memory, as old as the file was when it was opened. */
  isCopy: boolean;
}

/**
 * Connect to an existing file, or to memory.
 *
 * A reader gets as far as can be got:
 *
 * - To read a file that has a write-ahead log, SQLite makes two files beside it, even where the log is empty. Where it
 *   cannot, on a read-only disk or in another's folder, the file is read into memory as a whole, unless a log stands
 *   there: what is in it would be missing. (SQLite's own way out, `immutable=1`, is for URIs, which the driver leaves off.)
 * - SQLite refuses a file that is shorter than it says. `writable_schema` lifts that, and the pages that are there can be
 *   read; it allows no writes where the connection does not.
 */
export function connect(file: string, options: { readonly: boolean; busyTimeoutMs: number }): Connection {
  const { readonly, busyTimeoutMs: timeout } = options;
  const client = new Database(file, { readonly, fileMustExist: file !== ":memory:", timeout });
  try {
    firstLook(client);
    return { client, isCopy: false };
  } catch (error) {
    if (readonly && isCode(error, "CORRUPT")) {
      client.unsafeMode(true); // else the next line has no effect
      client.pragma("writable_schema = ON");
      return { client, isCopy: false };
    }
    client.close();
    if (!readonly || !isCode(error, "CANTOPEN|READONLY")) throw error;
    return { client: new Database(contentOf(file, error), { readonly }), isCopy: true };
  }
}

/** @param cause  Why it cannot be read in place. */
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

function firstLook(client: Database.Database): void {
  client.prepare("SELECT count(*) FROM sqlite_master").get();
}

/** @param codes  Alternatives, without their `SQLITE_`; longer ones that begin so are meant too. */
export function isCode(error: unknown, codes: string): error is Error {
  return error instanceof Database.SqliteError && new RegExp(`^SQLITE_(${codes})`).test(error.code);
}

/** Say what is wrong with the path before SQLite says "unable to open database file" to all of it. */
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
    // SQLite takes a file of a few bytes for an empty database and writes over it. By size, not by a look inside: closing
    // a file drops every lock that this process has on it, also those of a store it has open.
    if (stat.size > 0 && stat.size < DATABASE_BYTES_MIN) {
      throw new StoreError("NOT_A_STORE", { path: file, reason: "it is shorter than any SQLite database" });
    }
    if (stat.size === 0) refuseLogAlone(file);
    return;
  }
  if (readonly) throw new StoreError("FILE_NOT_FOUND", { path: file });
  const folder = dirname(file);
  if (!existsSync(folder)) throw new StoreError("FILE_NOT_FOUND", { path: folder });
  refuseLogAlone(file);
  try {
    closeSync(openSync(file, "a", 0o600));
  } catch (cause) {
    const reason = `no file can be created there (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`;
    throw new StoreError("FILE_NOT_USABLE", { path: file, reason }, { cause });
  }
}

/** SQLite deletes a log that it finds beside no file or an empty one, with all the messages in it. */
function refuseLogAlone(file: string): void {
  const log = `${file}-wal`;
  const byteLength = byteLengthOf(log);
  if (byteLength === 0) return;
  // Another process that makes the store writes the file before the log: both may have come since the file was looked at.
  if (byteLengthOf(file) > 0) return;
  const reason = `it is missing or empty, and ${log} holds ${byteLength} bytes of it; put it back, or move the log away`;
  throw new StoreError("FILE_NOT_USABLE", { path: file, reason });
}

/** Whether a write-ahead log with anything in it stands beside a file. */
export function holdsLog(file: string): boolean {
  return byteLengthOf(`${file}-wal`) > 0;
}
