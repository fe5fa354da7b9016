import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { StoreError } from "../core/errors.ts";
import { openDatabase, type StoreDatabase, storeErrorOf } from "./open.ts";

/** Pages copied between two turns of the event loop: a megabyte, some 3 ms. */
const PAGES_PER_TURN = 256;

export interface BackupOptions {
  /** Replace a file that is there already; refused unless given. */
  overwrite?: boolean;
  /** Called as the copy grows, with whole numbers of bytes. What it throws ends the backup. */
  onProgress?: (progress: { copiedBytes: number; totalBytes: number }) => void;
}

/** What a backup holds. */
export interface BackupReport {
  /** Absolute. */
  path: string;
  byteLength: number;
  sessionCount: number;
  messageCount: number;
  /** Position of the last row of the log in it. */
  logPosition: number;
}

/**
 * Copy a store to another file while this and other processes go on writing.
 *
 * SQLite's online backup, page by page, from a connection of its own that holds a read transaction for as long as it
 * takes. That pins one snapshot: without it, every write of another process would start the copy again
 * (https://sqlite.org/backup.html). `VACUUM INTO` is as consistent, but it holds up the event loop for the whole of it,
 * and refuses to run inside a transaction, so that nobody could say what it should have copied. The price of a snapshot
 * is that the write-ahead log cannot be emptied before the copy is done.
 *
 * The copy is made in a folder of its own beside the target, checked (SQLite's integrity, the count of every table and
 * every log position as they were in the snapshot), flushed, and put in its place in one step. It needs no file beside
 * it, so that it can be read from a read-only disk, and only its owner may read it. A failed backup leaves nothing
 * behind; a killed one leaves a folder `.coppice-backup-…`, and the target as it was.
 *
 * The copying lets other work of this process in between; the check at its end does so between tables.
 *
 * @param signal  Aborted when the store closes; its reason is thrown.
 * @throws {StoreError} `FILE_EXISTS`, `FILE_NOT_FOUND` for a missing folder, `FILE_NOT_USABLE` where the target cannot
 *   be written, `STORE_CORRUPT` where the store is too damaged to copy.
 */
export async function backupStore(
  database: StoreDatabase,
  path: string,
  { overwrite = false, onProgress }: BackupOptions,
  signal: AbortSignal,
): Promise<BackupReport> {
  database.assertOpen();
  const target = resolve(path);
  checkTarget(target, database.path, overwrite);
  const folder = inFileSystem(target, () => mkdtempSync(join(dirname(target), ".coppice-backup-")));
  try {
    const copy = join(folder, "copy.db");
    inFileSystem(target, () => writeFileSync(copy, "", { flag: "wx", mode: 0o600 }));
    const source = await copyPages(database, copy, (progress) => {
      signal.throwIfAborted();
      onProgress?.(progress);
    });
    await checkCopy(copy, source, target, signal);
    const byteLength = inFileSystem(target, () => {
      flush(copy);
      return statSync(copy).size;
    });
    checkTarget(target, database.path, overwrite); // it has had time to change
    inFileSystem(target, () => putInPlace(copy, target, overwrite));
    const { sessions = 0, messages = 0 } = source.rowCounts;
    return {
      path: target,
      byteLength,
      sessionCount: sessions,
      messageCount: messages,
      logPosition: source.lastIds.unions ?? 0,
    };
  } catch (error) {
    throw isDamage(error)
      ? new StoreError("STORE_CORRUPT", { path: database.path, reason: error.message }, { cause: error })
      : storeErrorOf(error, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What tells whether a copy holds all of what was copied. */
interface Inventory {
  /** By table. */
  rowCounts: Record<string, number>;
  /** By table that never uses an id again: the last one given. */
  lastIds: Record<string, number>;
}

function inventoryOf(client: Database.Database): Inventory {
  // A virtual table has no page of its own; the tables that hold its rows do.
  const tables = client
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    .pluck()
    .all();
  const countOf = (table: string): number =>
    client.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get()!;
  const lastIds = client
    .prepare<[], [string, number]>("SELECT name, seq FROM sqlite_sequence ORDER BY name")
    .raw()
    .all();
  return {
    rowCounts: Object.fromEntries(tables.map((table) => [table, countOf(table)])),
    lastIds: Object.fromEntries(lastIds),
  };
}

/** Fill `copy` with one snapshot of the store. Returns what was in it. */
async function copyPages(
  database: StoreDatabase,
  copy: string,
  onProgress: NonNullable<BackupOptions["onProgress"]>,
): Promise<Inventory> {
  if (database.path === ":memory:") {
    // No second connection reaches it, and no other process writes to it: a copy in one go is a snapshot.
    const inventory = database.read(() => inventoryOf(database.client));
    writeFileSync(copy, database.client.serialize());
    return inventory;
  }
  const { client } = openDatabase(database.path, { readonly: true, durability: "process", busyTimeoutMs: 5_000 });
  try {
    client.exec("BEGIN");
    const inventory = inventoryOf(client); // the first read takes the snapshot
    const pageBytes = client.pragma("page_size", { simple: true }) as number;
    await client.backup(copy, {
      progress({ totalPages, remainingPages }) {
        onProgress({ copiedBytes: (totalPages - remainingPages) * pageBytes, totalBytes: totalPages * pageBytes });
        return PAGES_PER_TURN;
      },
    });
    return inventory;
  } finally {
    client.close();
  }
}

async function checkCopy(copy: string, source: Inventory, target: string, signal: AbortSignal): Promise<void> {
  const client = new Database(copy, { fileMustExist: true });
  try {
    // The copy inherits the source's write-ahead log, which a reader could not do without two files beside it.
    client.pragma("journal_mode = DELETE");
    for (const table of Object.keys(source.rowCounts)) {
      await nextTurn();
      signal.throwIfAborted();
      const found = client.pragma(`integrity_check("${table}")`, { simple: true }) as string;
      if (found !== "ok") throw new DamageError(`a copy of it fails SQLite's integrity check: ${found}`);
    }
    if (JSON.stringify(inventoryOf(client)) !== JSON.stringify(source)) {
      const reason = "what is read back from it is not what was written";
      throw new StoreError("FILE_NOT_USABLE", { path: target, reason });
    }
  } finally {
    client.close();
  }
}

class DamageError extends Error {}

function isDamage(error: unknown): error is Error {
  if (error instanceof DamageError) return true;
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** Refuse a target that must not be written to, before any work is done and again at its end. */
function checkTarget(target: string, source: string, overwrite: boolean): void {
  const refuse = (reason: string): never => {
    throw new StoreError("FILE_NOT_USABLE", { path: target, reason });
  };
  const folder = dirname(target);
  if (!existsSync(folder)) throw new StoreError("FILE_NOT_FOUND", { path: folder });
  const found = inFileSystem(target, () => lstatSync(target, { throwIfNoEntry: false }));
  if (found?.isDirectory()) refuse("it is a folder; give the path of a file in it");
  if (found !== undefined && isSameFile(target, source)) refuse("it is the store itself");
  if (found !== undefined && !overwrite) throw new StoreError("FILE_EXISTS", { path: target });
  if (found !== undefined && !found.isFile() && !found.isSymbolicLink()) refuse("it is not a regular file");
  for (const beside of [`${target}-wal`, `${target}-journal`]) {
    // SQLite would take it for the copy's own and write old pages of another database into it.
    if (existsSync(beside)) refuse(`${beside} belongs to a database that is, or was, in its place`);
  }
}

function isSameFile(target: string, source: string): boolean {
  const [left, right] = [target, source].map((path) => statSync(path, { throwIfNoEntry: false }));
  return left !== undefined && left.ino === right?.ino && left.dev === right.dev;
}

function putInPlace(copy: string, target: string, overwrite: boolean): void {
  if (overwrite) renameSync(copy, target);
  else {
    try {
      linkSync(copy, target); // unlike a rename, never replaces anything
    } catch (error) {
      // Some file systems have no links. Then only a file that appears in the next microsecond is not noticed.
      if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
        throw new StoreError("FILE_EXISTS", { path: target }, { cause: error });
      }
      renameSync(copy, target);
    }
  }
  if (process.platform !== "win32") flush(dirname(target)); // there, folders cannot be opened
}

/** Wait until it is on the disk. */
function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Run what uses the target's disk; its failures in our words. */
function inFileSystem<T>(target: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    // "ENOSPC: no space left on device, write"
    const reason = `${/^\w+: ([^,]+)/.exec(message)?.[1] ?? message} (${code ?? "unknown"})`;
    throw new StoreError("FILE_NOT_USABLE", { path: target, reason }, { cause: error });
  }
}
