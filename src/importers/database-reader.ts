import { fork } from "node:child_process";
import { on } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { StoreError } from "../core/errors.ts";
import { DATABASE_SECONDS_MAX } from "../core/limits.ts";
import type { DatabaseBatch, DatabaseName, DatabaseReply, DatabaseRequest } from "./database-process.ts";
import { isDatabase, peek } from "./head.ts";
import type { ImportEvent, Importer, ImportFile } from "./importer.ts";

/** The program of the process, as source or built. */
const PROGRAM = fileURLToPath(new URL(`./database-process${extname(import.meta.url)}`, import.meta.url));

/** How long a process waits for another file before it ends, in milliseconds. */
const IDLE_MS_MAX = 2_000;

const HEAD_BYTES = 100;

/**
 * Returns an importer of databases.
 * @param readText  Reads what the same program keeps in other files.
 */
export function databaseImporter(name: DatabaseName, readText?: Importer["read"]): Importer {
  return {
    name,
    detect: () => false,
    detectDatabase: (path, signal) => isDatabaseOf(name, path, signal),
    async *read(file) {
      const { head, chunks, close } = await peek(file.chunks, HEAD_BYTES);
      if (readText !== undefined && !isDatabase(head)) yield* readText({ ...file, chunks });
      else {
        await close();
        yield* readDatabase(name, file);
      }
    },
  };
}

/**
 * Returns true for a database in this format.
 * @throws {StoreError} `IMPORT_UNREADABLE` if SQLite does not return; or the signal's reason.
 */
async function isDatabaseOf(name: DatabaseName, path: string, signal?: AbortSignal): Promise<boolean> {
  const reader = DatabaseReader.take(path, signal);
  try {
    return (await reader.ask({ kind: "detect", name, path })) as boolean;
  } finally {
    reader.release();
  }
}

/** Yields the events of a database. @throws like `isDatabaseOf`; `IMPORT_UNREADABLE` after the events of a damaged database. */
async function* readDatabase(
  name: DatabaseName,
  { path, isFinished, fingerprints, signal }: ImportFile,
): AsyncGenerator<ImportEvent> {
  if (path === "-") throw new StoreError("IMPORT_UNREADABLE", { path, reason: "a database is read from a file" });
  const reader = DatabaseReader.take(path, signal);
  try {
    let next = reader.ask({ kind: "read", name, file: { path, isFinished, fingerprints } });
    for (;;) {
      const { events, isLast, problem, fingerprints: found } = (await next) as DatabaseBatch;
      // One batch is read while the batch before it is used.
      if (!isLast) {
        next = reader.ask({ kind: "more" });
        next.catch(() => {}); // nobody may wait for it
      }
      yield* events;
      if (problem !== undefined) throw new StoreError("IMPORT_UNREADABLE", problem);
      for (const [id, fingerprint] of found ?? []) fingerprints?.set(id, fingerprint);
      if (isLast) return;
    }
  } finally {
    reader.release();
  }
}

/**
 * A process that reads databases, one at a time. From some damaged or hostile files SQLite does not return, or it crashes. A
 * process can be ended then; a thread cannot.
 */
class DatabaseReader {
  static readonly #idle = new Set<DatabaseReader>();

  /** Returns an idle process, or a new one. The signal kills it. */
  static take(path: string, signal: AbortSignal | undefined): DatabaseReader {
    signal?.throwIfAborted();
    const [reader = new DatabaseReader()] = DatabaseReader.#idle;
    DatabaseReader.#idle.delete(reader);
    reader.#begin(path, signal);
    return reader;
  }

  readonly #process = fork(PROGRAM, [String(process.pid)], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  readonly #replies = on(this.#process, "message", { close: ["exit"] }) as AsyncIterableIterator<[DatabaseReply]>;
  readonly #kill = (): void => void this.#process.kill("SIGKILL");
  #path = "";
  #signal: AbortSignal | undefined;
  /** True until the last batch was received. */
  #isBusy = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor() {
    this.#process.once("exit", () => DatabaseReader.#idle.delete(this));
  }

  #begin(path: string, signal: AbortSignal | undefined): void {
    clearTimeout(this.#idleTimer);
    this.#process.ref();
    this.#process.channel?.ref();
    this.#path = path;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#kill);
  }

  /** @throws {StoreError} `IMPORT_UNREADABLE` if the process ends; or the signal's reason. */
  async ask(request: DatabaseRequest): Promise<DatabaseReply> {
    this.#isBusy = true;
    this.#process.send(request, () => {}); // a process that is gone does not reply
    const { value, done } = await this.#replies.next();
    this.#signal?.throwIfAborted();
    if (done) {
      const { signalCode, exitCode } = this.#process;
      const ended = `its reader ended with ${signalCode ?? `code ${exitCode}`}`;
      const reason = signalCode === "SIGKILL" ? `SQLite did not return for ${DATABASE_SECONDS_MAX} seconds` : ended;
      throw new StoreError("IMPORT_UNREADABLE", { path: this.#path, reason });
    }
    const [reply] = value;
    this.#isBusy = typeof reply !== "boolean" && !reply.isLast;
    return reply;
  }

  /** Keeps the process for the next file, unless it is still at work. */
  release(): void {
    this.#signal?.removeEventListener("abort", this.#kill);
    if (this.#isBusy) {
      this.#kill();
      return;
    }
    DatabaseReader.#idle.add(this);
    this.#process.unref();
    this.#process.channel?.unref();
    this.#idleTimer = setTimeout(this.#kill, IDLE_MS_MAX).unref();
  }
}
