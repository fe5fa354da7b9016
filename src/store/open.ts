import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import { type BetterSQLite3Database, drizzle } from "drizzle-orm/better-sqlite3";
import { StoreError } from "../core/errors.ts";
import { lookAt } from "../core/files.ts";
import { type Connection, connect, holdsLog, isCode, prepareFile } from "./connect.ts";
import { migrate } from "./migrate.ts";
import { type StatementTag, statementTag } from "./statement.ts";

/** "Copp" in ASCII: what `PRAGMA application_id` says of our files, and `file` of unknown ones. */
export const APPLICATION_ID = 0x43_6f_70_70;

export interface OpenDatabaseOptions {
  readonly: boolean;
  /** `process` survives the death of the process (synchronous=NORMAL), `power` that of the machine (FULL). */
  durability: "process" | "power";
  /** How long a write waits for another process's, in milliseconds. */
  busyTimeoutMs: number;
}

/**
 * How long SQLite itself waits for a lock. Between its tries it pauses longer and longer, up to a tenth of a second, and
 * whoever writes all the time is sure to hold the lock again by then. So it is asked again and again, and tries each
 * millisecond.
 */
const LOCK_WAIT_MS = 2;

/** One connection to one store file. */
export class StoreDatabase {
  readonly path: string;
  readonly readonly: boolean;
  readonly client: Database.Database;
  readonly orm: BetterSQLite3Database;
  /** Makes a statement of written SQL. */
  readonly statement: StatementTag;
  readonly #files: readonly FileIdentity[];
  readonly #isCopy: boolean;
  /** Runs what it is given; made once, because the driver takes as long to make one as to run it. */
  readonly #transaction: Database.Transaction<(run: () => unknown) => unknown>;
  /** The same, with a look at the path before the commit. */
  readonly #writeTransaction: Database.Transaction<(change: () => unknown) => unknown>;
  readonly #readDataVersion: Database.Statement<[], number>;
  #busyTimeoutMs: number;
  /** Whether the write that was tried last got its lock. */
  #hasBegun = false;

  constructor({ client, isCopy }: Connection, path: string, options: OpenDatabaseOptions) {
    this.client = client;
    this.path = path;
    this.readonly = options.readonly;
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#waitFor(LOCK_WAIT_MS);
    this.#isCopy = isCopy;
    this.#files = identitiesOf(path, { readonly: options.readonly, isCopy });
    this.orm = drizzle(client);
    this.statement = statementTag(client);
    this.#transaction = client.transaction((run: () => unknown) => run());
    this.#writeTransaction = client.transaction((change: () => unknown) => {
      this.#hasBegun = true;
      const result = change();
      this.assertInPlace();
      return result;
    });
    this.#readDataVersion = client.prepare<[], number>("PRAGMA data_version").pluck();
  }

  /** Changes exactly when another connection has committed since the last look. */
  dataVersion(): number {
    return this.guard(() => this.#patiently(() => this.#readDataVersion.get()!));
  }

  /**
   * Run `change` in one IMMEDIATE transaction: all of it is committed when this returns, or none of it.
   * A deferred one that reads first and writes later fails at once whenever another process has written in between.
   *
   * Its last step before the commit is a look at the path. SQLite would go on writing to a file that has been deleted or
   * replaced, where nobody will ever read it. That look takes 1.5 µs.
   */
  write<T>(operation: string, change: () => T): T {
    this.assertOpen();
    if (this.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation });
    return this.guard(() => this.#patiently(() => this.#writeTransaction.immediate(change) as T));
  }

  /** Run `query` on one snapshot of the file. */
  read<T>(query: () => T): T {
    this.assertOpen();
    if (this.#isCopy) this.assertInPlace(); // or the copy in memory is out of date
    if (this.client.inTransaction) return this.guard(query);
    return this.guard(() => this.#patiently(() => this.#transaction.deferred(query) as T));
  }

  /** Run statements that are no transaction of ours and wait for others: SQLite waits by itself, as long as it may. */
  waiting<T>(run: () => T): T {
    this.#waitFor(this.#busyTimeoutMs);
    try {
      return run();
    } finally {
      this.#waitFor(LOCK_WAIT_MS);
    }
  }

  /** From now on, what would have to wait for another process fails at once. */
  waitNoMore(): void {
    this.#busyTimeoutMs = 0;
    this.#waitFor(0);
  }

  #waitFor(ms: number): void {
    this.client.pragma(`busy_timeout = ${Math.min(ms, this.#busyTimeoutMs)}`);
  }

  /** Try until the lock is ours, as long as it may take. A change that has begun has its lock, and is never made twice. */
  #patiently<T>(run: () => T): T {
    if (this.client.inTransaction) return run();
    const deadlineMs = performance.now() + this.#busyTimeoutMs;
    for (;;) {
      this.#hasBegun = false;
      try {
        return run();
      } catch (error) {
        if (this.#hasBegun || !isCode(error, "BUSY") || performance.now() >= deadlineMs) throw error;
      }
    }
  }

  /** @throws {StoreError} `FILE_REPLACED` if the path does not lead to the file that was opened. */
  assertInPlace(): void {
    for (const { path, dev, ino, mtimeMs } of this.#files) {
      const found = lookAt(path);
      const isSame = found?.ino === ino && found.dev === dev && (mtimeMs === undefined || found.mtimeMs === mtimeMs);
      if (!isSame) throw new StoreError("FILE_REPLACED", { path });
    }
  }

  assertOpen(): void {
    if (!this.client.open) throw new StoreError("STORE_CLOSED", { path: this.path });
  }

  /** Run statements of ours; what they throw, in our words. */
  guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof StoreError || error instanceof Database.SqliteError) throw ownErrorOf(error, this.path);
      throw this.#unforeseen(error);
    }
  }

  /** A failure of our own code may be a bug, or come of rows that cannot be. Only SQLite can tell whether the file is to blame. */
  #unforeseen(error: unknown): unknown {
    if (!(error instanceof Error) || !this.client.open) return error;
    const isDamage = error instanceof SyntaxError || !this.#isIntact(); // all that is parsed here is what rows hold
    if (!isDamage) return error;
    return new StoreError("STORE_CORRUPT", { path: this.path, reason: error.message }, { cause: error });
  }

  #isIntact(): boolean {
    try {
      return this.client.pragma("integrity_check(1)", { simple: true }) === "ok";
    } catch {
      return false;
    }
  }
}

/** A file as the file system knows it, whatever it is called. */
interface FileIdentity {
  path: string;
  dev: number;
  ino: number;
  /** Only where the content must not change either. */
  mtimeMs: number | undefined;
}

/**
 * The files that a connection depends on: the store, and for a writer its write-ahead log, which stays the same file from
 * the first connection to the last. A reader may come before the log does.
 */
function identitiesOf(path: string, options: { readonly: boolean; isCopy: boolean }): FileIdentity[] {
  if (path === ":memory:") return [];
  const log = `${realpathSync(path)}-wal`;
  return (options.readonly ? [path] : [path, log]).flatMap((file) => {
    const found = lookAt(file);
    if (found === undefined) return []; // SQLite keeps no such log where the file system cannot share memory
    const { dev, ino, mtimeMs } = found;
    return [{ path: file, dev, ino, mtimeMs: options.isCopy ? mtimeMs : undefined }];
  });
}

/** SQLite's own failures, and those of its driver, in our words; anything else as it came. */
export function storeErrorOf(error: unknown, path: string): unknown {
  if (isOfDriver(error)) {
    const [reason = ""] = error.message.replace(/\s+/g, " ").split(". ");
    return new StoreError("DRIVER_NOT_BUILT", { reason }, { cause: error });
  }
  if (!(error instanceof Database.SqliteError)) return error;
  const options = { cause: error };
  const reason = error.message;
  const code = error.code;
  if (code.startsWith("SQLITE_BUSY")) return new StoreError("STORE_BUSY", { path }, options);
  if (code.startsWith("SQLITE_CORRUPT")) return new StoreError("STORE_CORRUPT", { path, reason }, options);
  if (code === "SQLITE_NOTADB") return new StoreError("NOT_A_STORE", { path, reason }, options);
  if (/^SQLITE_(FULL|IOERR|CANTOPEN|READONLY|PERM|AUTH|NOLFS)/.test(code)) {
    return new StoreError("FILE_NOT_USABLE", { path, reason: `${reason} (${code})` }, options);
  }
  return error;
}

/** The driver looks for its binary when the first file is opened. It is not there, or made for another Node. */
function isOfDriver(error: unknown): error is Error {
  return error instanceof Error && ("tries" in error || ("code" in error && error.code === "ERR_DLOPEN_FAILED"));
}

/** The same for statements of ours: where one does not fit the file, it is the file that is not what it was. */
function ownErrorOf(error: unknown, path: string): unknown {
  if (!isCode(error, "ERROR|CONSTRAINT|MISMATCH|TOOBIG|NOMEM")) return storeErrorOf(error, path);
  return new StoreError("STORE_CORRUPT", { path, reason: error.message }, { cause: error });
}

/**
 * Open or create a store file.
 *
 * Nothing is written to a file that turns out not to be ours. A new file is readable and writable by its owner only: it
 * holds conversations.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `NOT_A_STORE`, `FORMAT_UNSUPPORTED`, `STORE_BUSY`,
 *   `STORE_CORRUPT`, `DRIVER_NOT_BUILT`.
 */
export function openDatabase(path: string, options: OpenDatabaseOptions): StoreDatabase {
  const inMemory = path === ":memory:";
  const file = inMemory ? path : resolve(path);
  if (!inMemory) prepareFile(file, options.readonly);

  let client: Database.Database | undefined;
  try {
    if (!options.readonly && holdsLog(file)) refuseForeignLog(file, options.busyTimeoutMs);
    const connection = connect(file, options);
    client = connection.client;
    refuseForeign(client, file);
    if (!options.readonly) {
      useWriteAheadLog(client, options.busyTimeoutMs);
      client.pragma(`synchronous = ${options.durability === "power" ? "FULL" : "NORMAL"}`);
    }
    client.pragma("foreign_keys = ON");
    client.pragma("trusted_schema = OFF");
    migrate(client, file, { applicationId: APPLICATION_ID, readonly: options.readonly });
    return new StoreDatabase(connection, file, options);
  } catch (error) {
    client?.close();
    throw ownErrorOf(error, file);
  }
}

/**
 * Whoever closes a file last writes its log into it, be it the log of another database. A reader cannot, so it looks first
 * where a log was left behind.
 */
function refuseForeignLog(file: string, busyTimeoutMs: number): void {
  const { client } = connect(file, { readonly: true, busyTimeoutMs });
  try {
    refuseForeign(client, file);
  } finally {
    client.close();
  }
}

function refuseForeign(client: Database.Database, path: string): void {
  // On one snapshot: another process may be making the file at this moment.
  const { applicationId, tableCount } = client.transaction(() => ({
    applicationId: client.pragma("application_id", { simple: true }),
    tableCount: client.prepare("SELECT count(*) FROM sqlite_master").pluck().get(),
  }))();
  if (applicationId === APPLICATION_ID || (applicationId === 0 && tableCount === 0)) return;
  const reason = `it is an SQLite database of another program (application_id ${applicationId}, ${tableCount} tables and indexes)`;
  throw new StoreError("NOT_A_STORE", { path, reason });
}

/** Where two processes make the same file, SQLite refuses the second this one lock at once, whatever its busy timeout. */
function useWriteAheadLog(client: Database.Database, busyTimeoutMs: number): void {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      client.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isCode(error, "BUSY") || performance.now() > deadlineMs) throw error;
      client.exec("BEGIN IMMEDIATE; COMMIT"); // waits for the other
    }
  }
}
