import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { DamageError } from "../../core/damage.ts";
import { driverError } from "../../core/driver.ts";
import { StoreError } from "../../core/errors.ts";
import { lookAt } from "../../core/files.ts";
import { integrityFaults, RowCheck, SEALED } from "../sql/row-check.ts";
import { type StatementTag, statementTag } from "../sql/statement.ts";
import { type Connection, connect, holdsLog, isCode } from "./connect.ts";
import { admit, admitPath, openToRead, refuseForeign } from "./door.ts";
import { refuseForeignLog } from "./foreign-log.ts";
import { refuseSecondName } from "./one-name.ts";
import { countSerial } from "./serial.ts";

export interface OpenDatabaseOptions {
  readonly: boolean;
  /** Commits survive the death of the process (synchronous=NORMAL), or also a power cut (FULL). */
  durability: "process" | "power";
  /** Milliseconds that a write waits for another process. */
  busyTimeoutMs: number;
}

/**
 * Milliseconds that SQLite itself waits for a lock; then `#patiently` tries again. SQLite's own pauses grow to 0.1 s. A
 * process that writes all the time would always hold the lock by then.
 */
const LOCK_WAIT_MS = 2;

/**
 * The commit that makes the write-ahead log longer than this many pages (16 MB) writes them to the file and waits for the disk.
 * With SQLite's 1,000 pages, more commits wait, and pages that change often are written more often. See `checkpoint`.
 */
const LOG_PAGES_MAX = 4_000;
const LOG_BYTES_MAX = LOG_PAGES_MAX * 4_096;

/**
 * SQLite begins the log anew only if at that moment nobody reads from it. Where readers overlap there is no such moment, and the log
 * grew by 7 MB a second. So while it is longer than this, long reads wait for their turn, at most for a second.
 */
const LOG_BYTES_LONG = 2 * LOG_BYTES_MAX;
const TURN_MS_MAX = 1_000;
const TURN_LOOK_MS = 5;
/** Nobody is writing to a log that has not changed for so long. */
const QUIET_MS = 1_000;

export class StoreDatabase {
  readonly path: string;
  readonly readonly: boolean;
  readonly client: Database.Database;
  readonly statement: StatementTag;
  readonly rowCheck: RowCheck;
  readonly #files: readonly FileIdentity[];
  readonly #isCopy: boolean;
  /** The driver takes as long to make a transaction as to run it. */
  readonly #transaction: Database.Transaction<(run: () => unknown) => unknown>;
  readonly #writeTransaction: Database.Transaction<(change: () => unknown) => unknown>;
  readonly #readDataVersion: Database.Statement<[], number>;
  #busyTimeoutMs: number;
  /** True since a read has found damage, until the next scrub. */
  isSuspect = false;
  /** What `changeCount` returned after the last scrub. */
  changesAtScrub = 0;
  #hasBegun = false;
  /** True if this connection has counted up the serial of the file. */
  #hasCounted = false;
  #rollbackCount = 0;
  /** True while a caller's work runs in `atomically`. */
  #isAtomic = false;
  /** True in `writeWhole`. */
  #isWhole = false;
  /** The caller's function that is running, such as its clock. */
  #called: string | undefined;

  constructor({ client, isCopy }: Connection, path: string, options: OpenDatabaseOptions) {
    this.client = client;
    this.path = path;
    this.readonly = options.readonly;
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#waitFor(LOCK_WAIT_MS);
    this.#isCopy = isCopy;
    this.#files = identitiesOf(path, { readonly: options.readonly, isCopy });
    this.statement = statementTag(client);
    this.rowCheck = new RowCheck(client);
    this.#transaction = client.transaction((run: () => unknown) => run());
    this.#writeTransaction = client.transaction((change: () => unknown) => {
      this.#hasBegun = true;
      const result = change();
      this.assertInPlace(); // 1.5 µs. SQLite would write to a deleted or replaced file, too
      return result;
    });
    this.#readDataVersion = client.prepare<[], number>("PRAGMA data_version").pluck();
  }

  /** Changes exactly when another connection commits. */
  dataVersion(): number {
    return this.guard(() => this.#patiently(() => this.#readDataVersion.get()!));
  }

  /** How many rows this connection has changed. */
  changeCount(): number {
    return this.client.prepare<[], number>("SELECT total_changes()").pluck().get()!;
  }

  /** Runs `change` in one IMMEDIATE transaction. When this returns, all of it is committed, or none of it. */
  write<T>(operation: string, change: () => T): T {
    this.assertWritable(operation);
    try {
      if (this.#isWhole) return this.guard(change);
      const isOuter = !this.client.inTransaction;
      const counted = (): T => (isOuter && !this.#hasCounted ? this.#firstChange(change) : change());
      return this.guard(() => this.#patiently(() => this.#writeTransaction.immediate(counted) as T));
    } catch (error) {
      this.#rollbackCount += 1;
      this.#hasCounted = false;
      throw error;
    }
  }

  /** A transaction must not count twice: what its log follows on would not be found. */
  #firstChange<T>(change: () => T): T {
    const changesBefore = this.changeCount();
    const result = change();
    if (this.changeCount() > changesBefore) {
      countSerial(this.client);
      this.#hasCounted = true;
    }
    return result;
  }

  /**
   * Like `write`, for a change in which no failed write is caught, unless what it had written may stay. The writes that it calls get
   * no savepoints, for which SQLite would copy each page that changes.
   */
  writeWhole<T>(operation: string, change: () => T): T {
    return this.write(operation, () => {
      const wasWhole = this.#isWhole;
      this.#isWhole = true;
      try {
        return change();
      } finally {
        this.#isWhole = wasWhole;
      }
    });
  }

  /** How many changes of this connection were undone. What was read before may be of them. */
  get rollbackCount(): number {
    return this.#rollbackCount;
  }

  /**
   * Runs a caller's work in one IMMEDIATE transaction. In another call, it becomes part of that. What the work throws is thrown
   * unchanged.
   */
  atomically<T>(work: () => T): T {
    let thrown: { error: unknown } | undefined;
    const wasAtomic = this.#isAtomic;
    try {
      return this.write("atomically", () => {
        this.#isAtomic = true;
        try {
          const result = work();
          this.assertWritable("atomically");
          return result;
        } catch (error) {
          thrown = { error };
          throw new StoreError("NOT_ATOMIC", { operation: "work that throws" });
        } finally {
          this.#isAtomic = wasAtomic;
        }
      });
    } catch (error) {
      throw thrown === undefined ? error : thrown.error;
    }
  }

  /** @throws {StoreError} `NOT_ATOMIC` inside `atomically`, for a call whose effects a rollback would not undo. */
  refuseAtomic(operation: string): void {
    if (this.#isAtomic) throw new StoreError("NOT_ATOMIC", { operation });
  }

  get isAtomic(): boolean {
    return this.#isAtomic;
  }

  /** Runs a function that the caller gave to the store. It may run between two steps of a write, so it can write nothing. */
  calling<T>(called: string, run: () => T): T {
    const outer = this.#called;
    this.#called = called;
    try {
      return run();
    } finally {
      this.#called = outer;
    }
  }

  assertWritable(operation: string): void {
    this.assertOpen();
    if (this.#called !== undefined) throw new StoreError("WRITE_NESTED", { operation, within: this.#called });
    this.#assertInTransaction();
    if (this.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation });
  }

  read<T>(query: () => T): T {
    this.assertOpen();
    this.#assertInTransaction();
    if (this.#isCopy) this.assertInPlace(); // otherwise the copy in memory is out of date
    if (this.client.inTransaction) return this.guard(query);
    return this.guard(() => this.#patiently(() => this.#transaction.deferred(query) as T));
  }

  /** SQLite ends a transaction by itself if the disk is full. What a caller's work does next must not be stored alone. */
  #assertInTransaction(): void {
    if (!this.#isAtomic || this.client.inTransaction) return;
    const reason = "SQLite has undone the transaction of `atomically` after an error";
    throw new StoreError("FILE_NOT_USABLE", { path: this.path, reason });
  }

  /** Runs statements outside a transaction. SQLite waits for other processes up to the busy timeout. */
  waiting<T>(run: () => T): T {
    this.#waitFor(this.#busyTimeoutMs);
    try {
      return run();
    } finally {
      this.#waitFor(LOCK_WAIT_MS);
    }
  }

  /** Runs `run`, which fails at once with `STORE_BUSY` if it would wait for another process. */
  withoutWaiting<T>(run: () => T): T {
    const busyTimeoutMs = this.#busyTimeoutMs;
    this.#busyTimeoutMs = 0;
    try {
      return run();
    } finally {
      this.#busyTimeoutMs = busyTimeoutMs;
    }
  }

  /** Waits while the write-ahead log is long and grows, so that it can begin anew. For reads that may take long, and can wait. */
  async turnToRead(): Promise<void> {
    const deadlineMs = performance.now() + TURN_MS_MAX;
    while (this.#isLogLong() && performance.now() < deadlineMs) await sleep(TURN_LOOK_MS);
  }

  #isLogLong(): boolean {
    const log = lookAt(`${this.path}-wal`);
    return log !== undefined && log.size > LOG_BYTES_LONG && Date.now() - log.mtimeMs < QUIET_MS;
  }

  /** Writes the write-ahead log to the file as far as nobody reads it, and waits for nobody. So that a commit need not do it. */
  checkpoint(): void {
    this.guard(() => this.client.pragma("wal_checkpoint(PASSIVE)"));
  }

  /** Makes every later call fail at once if it would wait for another process. */
  waitNoMore(): void {
    this.#busyTimeoutMs = 0;
    this.#waitFor(0);
  }

  #waitFor(ms: number): void {
    this.client.pragma(`busy_timeout = ${Math.min(ms, this.#busyTimeoutMs)}`);
  }

  /** Tries until it gets the lock or the busy timeout passes. A change that has the lock is never repeated. */
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

  /** @throws {StoreError} `STORE_CLOSED` if a path no longer leads to the file that was opened. */
  assertInPlace(): void {
    for (const { path, dev, ino, mtimeMs } of this.#files) {
      const found = lookAt(path);
      const isSame = found?.ino === ino && found.dev === dev && (mtimeMs === undefined || found.mtimeMs === mtimeMs);
      if (!isSame) throw new StoreError("STORE_CLOSED", { path, isReplaced: true });
    }
  }

  assertOpen(): void {
    if (!this.client.open) throw new StoreError("STORE_CLOSED", { path: this.path });
  }

  /** Throws failures of our own statements as `StoreError`. */
  guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      const isForeseen = error instanceof StoreError || error instanceof Database.SqliteError;
      const thrown = isForeseen ? ownErrorOf(error, this.path) : this.#unforeseen(error);
      this.isSuspect ||= StoreError.is(thrown, "STORE_CORRUPT");
      throw thrown;
    }
  }

  /** A failure of our code is a bug, unless the store is damaged. */
  #unforeseen(error: unknown): unknown {
    if (!(error instanceof Error)) return error;
    // A function of the caller, such as a token counter, has closed the store, and the driver says so.
    const isClosed = error instanceof TypeError && !this.client.open;
    if (isClosed) return new StoreError("STORE_CLOSED", { path: this.path }, { cause: error });
    if (!this.client.open) return error;
    if (!(error instanceof DamageError) && this.#isIntact()) return error;
    return new StoreError("STORE_CORRUPT", { path: this.path, reason: error.message }, { cause: error });
  }

  #isIntact(): boolean {
    try {
      if (integrityFaults(this.client, "integrity_check", 1).length > 0) return false;
      return SEALED.every((table) => this.rowCheck.damaged(table).damages.length === 0);
    } catch {
      return false;
    }
  }
}

interface FileIdentity {
  path: string;
  dev: number;
  ino: number;
  /** Undefined if the content may change. */
  mtimeMs: number | undefined;
}

/** The files that a connection depends on: the store, and a writer's log. The log stays until everybody closes. */
function identitiesOf(path: string, options: { readonly: boolean; isCopy: boolean }): FileIdentity[] {
  if (path === ":memory:") return [];
  const log = `${realpathSync(path)}-wal`;
  return (options.readonly ? [path] : [path, log]).flatMap((file) => {
    const found = lookAt(file);
    if (found === undefined) return []; // SQLite keeps no such log if the file system cannot share memory
    const { dev, ino, mtimeMs } = found;
    return [{ path: file, dev, ino, mtimeMs: options.isCopy ? mtimeMs : undefined }];
  });
}

/** Returns failures of SQLite and its driver as `StoreError`, and other errors unchanged. */
export function storeErrorOf(error: unknown, path: string): unknown {
  if (isOfDriver(error)) {
    const [reason = ""] = error.message.replace(/\s+/g, " ").split(/\. | Require stack/);
    return driverError(reason, isMissing(error) ? COMPILE : undefined, error);
  }
  if (!(error instanceof Database.SqliteError)) return error;
  const options = { cause: error };
  const { message: reason, code } = error;
  if (code.startsWith("SQLITE_BUSY")) return new StoreError("STORE_BUSY", { path }, options);
  if (code.startsWith("SQLITE_CORRUPT")) return new StoreError("STORE_CORRUPT", { path, reason }, options);
  if (code === "SQLITE_NOTADB") return new StoreError("NOT_A_STORE", { path, reason }, options);
  if (/^SQLITE_(FULL|IOERR|CANTOPEN|READONLY|PERM|AUTH|NOLFS)/.test(code)) {
    return new StoreError("FILE_NOT_USABLE", { path, reason: `${reason} (${code})` }, options);
  }
  return error;
}

/** The driver loads its binary with the first file. The binary may be missing, or built for another Node. */
function isOfDriver(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return "tries" in error || ("code" in error && error.code === "ERR_DLOPEN_FAILED") || isMissing(error);
}

/** better-sqlite3 13 has binaries for common platforms, and no install script for others. */
const COMPILE = "Compile it for this platform: `npm explore better-sqlite3 -- npm run build-release`.";

function isMissing(error: Error): boolean {
  return "code" in error && error.code === "MODULE_NOT_FOUND" && error.message.includes("better_sqlite3.node");
}

/** A statement of ours that does not fit the file means damage. */
function ownErrorOf(error: unknown, path: string): unknown {
  if (!isCode(error, "ERROR|CONSTRAINT|MISMATCH|TOOBIG|NOMEM")) return storeErrorOf(error, path);
  return new StoreError("STORE_CORRUPT", { path, reason: error.message }, { cause: error });
}

/**
 * Opens or creates a store file. Only its owner may read and write a new file, because it holds conversations. A file
 * that is not a store is not changed.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `NOT_A_STORE`, `FORMAT_UNSUPPORTED`, `STORE_BUSY`,
 * `STORE_CORRUPT`, `PACKAGE_MISSING`.
 */
export function openDatabase(path: string, options: OpenDatabaseOptions): StoreDatabase {
  const file = path === ":memory:" ? path : resolve(path);
  let connection: Connection | undefined;
  try {
    admitPath(file, options.readonly);
    refuseSecondName(file);
    connection = options.readonly ? openToRead(file, options.busyTimeoutMs) : openToWrite(file, options);
    return new StoreDatabase(connection, file, options);
  } catch (error) {
    connection?.client.close();
    throw ownErrorOf(error, file);
  }
}

/** Opens a store for a hook, which has no time to look for a second name of the file. @throws what `openToRead` throws. */
export function openForHook(path: string, busyTimeoutMs: number): StoreDatabase {
  const file = resolve(path);
  const options = { readonly: true, durability: "process", busyTimeoutMs } as const;
  return new StoreDatabase(openToRead(file, busyTimeoutMs), file, options);
}

function openToWrite(file: string, options: OpenDatabaseOptions): Connection {
  if (holdsLog(file)) lookAsReader(file, options.busyTimeoutMs);
  const connection = connect(file, options);
  const { client } = connection;
  try {
    refuseForeign(client, file);
    useWriteAheadLog(client, options.busyTimeoutMs);
    client.pragma(`wal_autocheckpoint = ${LOG_PAGES_MAX}`);
    client.pragma(`journal_size_limit = ${LOG_BYTES_MAX}`); // a log that begins anew is cut to this length
    client.pragma(`synchronous = ${options.durability === "power" ? "FULL" : "NORMAL"}`);
    admit(client, file, false);
    return connection;
  } catch (error) {
    client.close();
    throw error;
  }
}

/** When a writer closes a file, SQLite writes any log beside it into it. So a reader checks the file first. */
function lookAsReader(file: string, busyTimeoutMs: number): void {
  refuseForeignLog(file);
  const { client } = connect(file, { readonly: true, busyTimeoutMs });
  try {
    refuseForeign(client, file);
  } finally {
    client.close();
  }
}

/** If two processes create a file at once, SQLite refuses one of them without waiting for the busy timeout. */
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
