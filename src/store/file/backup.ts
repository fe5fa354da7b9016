import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { checkTarget, flushToDisk, inFileSystem, moveIntoPlace } from "../../core/files.ts";
import { isCode } from "./connect.ts";
import { openDatabase, type StoreDatabase, storeErrorOf } from "./open.ts";
import { giveSerial } from "./serial.ts";

/** Pages copied in one turn of the event loop: 1 MB, about 3 ms. */
const PAGES_PER_TURN = 256;

export interface BackupOptions {
  /** True to replace an existing file. Otherwise an existing file is an error. */
  overwrite?: boolean;
  /** Called as the copy grows, and as it is checked. An error that it throws ends the backup. */
  onProgress?: (progress: { copiedBytes: number; totalBytes: number }) => void;
}

export interface BackupReport {
  /** The absolute path of the copy. */
  path: string;
  byteLength: number;
  sessionCount: number;
  messageCount: number;
  /** The newest log position. */
  logPosition: number;
}

/**
 * Copies a store to another file while this and other processes keep writing.
 *
 * SQLite's online backup yields to the event loop; `VACUUM INTO` would block it. A read transaction stays open on the
 * copying connection, because otherwise each write of another process would start the copy again
 * (https://sqlite.org/backup.html). Meanwhile the write-ahead log cannot be emptied.
 *
 * The copy is made in a new folder beside the target, readable by the owner only. It is checked, flushed, and renamed
 * to the target, so that nobody sees half a backup. It can be read from a read-only disk. A backup that fails leaves nothing behind. A killed one
 * leaves a folder `.coppice-backup-…`, and the target unchanged.
 *
 * @param signal  Aborted when the store closes; its reason is thrown.
 * @throws {StoreError} `FILE_EXISTS`; `FILE_NOT_FOUND` if the folder is missing; `FILE_NOT_USABLE` if the target cannot
 * be written; `STORE_CORRUPT` if the store is too damaged to copy.
 */
export async function backupStore(
  database: StoreDatabase,
  path: string,
  { overwrite = false, onProgress }: BackupOptions,
  signal: AbortSignal,
): Promise<BackupReport> {
  const target = resolve(path);
  const move = (copy: string): void => {
    checkTarget(target, database.path, overwrite); // again: the copy took time
    moveIntoPlace(copy, target, overwrite);
  };
  checkTarget(target, database.path, overwrite);
  return copyTo(database, target, { onProgress, move }, signal);
}

/** Makes a checked copy in a folder beside the target, and lets `move` put it in its place. */
export async function copyTo(
  database: StoreDatabase,
  target: string,
  { onProgress, move }: { onProgress: BackupOptions["onProgress"] | undefined; move: (copy: string) => void },
  signal: AbortSignal,
): Promise<BackupReport> {
  database.assertOpen();
  const folder = inFileSystem(target, () => mkdtempSync(join(dirname(target), ".coppice-backup-")));
  try {
    const copy = join(folder, "copy.db");
    inFileSystem(target, () => writeFileSync(copy, "", { flag: "wx", mode: 0o600 }));
    let progress = { copiedBytes: 0, totalBytes: 0 };
    const breathe = (): void => {
      signal.throwIfAborted();
      onProgress?.(progress);
    };
    const source = await copyPages(database, copy, (copied) => {
      progress = copied;
      breathe();
    });
    await checkCopy(copy, source, target, breathe);
    const byteLength = inFileSystem(target, () => {
      flushToDisk(copy);
      return statSync(copy).size;
    });
    inFileSystem(target, () => move(copy));
    const { sessions = 0, messages = 0 } = source.rowCounts;
    const logPosition = source.lastIds.unions ?? 0;
    return { path: target, byteLength, sessionCount: sessions, messageCount: messages, logPosition };
  } catch (error) {
    throw error instanceof DamageError || isCode(error, "CORRUPT|NOTADB")
      ? new StoreError("STORE_CORRUPT", { path: database.path, reason: error.message }, { cause: error })
      : storeErrorOf(error, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** These numbers must be equal in a store and its copy. */
interface Inventory {
  rowCounts: Record<string, number>;
  /** For each table with AUTOINCREMENT. */
  lastIds: Record<string, number>;
}

function inventoryOf(client: Database.Database): Inventory {
  // Virtual tables have no root page. Their shadow tables are counted.
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

async function copyPages(
  database: StoreDatabase,
  copy: string,
  onProgress: NonNullable<BackupOptions["onProgress"]>,
): Promise<Inventory> {
  if (database.path === ":memory:") {
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

/** @param breathe  Called between the tables. What it throws ends the check. */
async function checkCopy(copy: string, source: Inventory, target: string, breathe: () => void): Promise<void> {
  const client = new Database(copy, { fileMustExist: true });
  try {
    // In WAL mode, a reader would need two files beside the copy.
    client.pragma("journal_mode = DELETE");
    giveSerial(client);
    for (const table of Object.keys(source.rowCounts)) {
      await nextTurn();
      breathe();
      const found = client.pragma(`integrity_check("${table}")`, { simple: true }) as string;
      if (found !== "ok") throw new DamageError(`a copy of it fails SQLite's integrity check: ${found}`);
    }
    if (JSON.stringify(inventoryOf(client)) !== JSON.stringify(source)) {
      const reason = "the copy on it differs from what was written";
      throw new StoreError("FILE_NOT_USABLE", { path: target, reason });
    }
  } finally {
    client.close();
  }
}
