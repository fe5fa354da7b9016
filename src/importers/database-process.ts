import { Worker } from "node:worker_threads";
import { StoreError } from "../core/errors.ts";
import { DATABASE_SECONDS_MAX } from "../core/limits.ts";
import { crushDatabase } from "./crush/database.ts";
import { cursorDatabase } from "./cursor/database.ts";
import { type DatabaseFile, type DatabaseFormat, ForeignDatabase } from "./foreign-database.ts";
import { gooseDatabase } from "./goose/database.ts";
import type { ImportEvent } from "./importer.ts";
import { opencodeDatabase } from "./opencode/database.ts";
import { zedDatabase } from "./zed/database.ts";

// The process that reads databases. It answers one request at a time. Its argument is the id of the process that started it.

const FORMATS = {
  opencode: opencodeDatabase,
  goose: gooseDatabase,
  crush: crushDatabase,
  zed: zedDatabase,
  cursor: cursorDatabase,
};

export type DatabaseName = keyof typeof FORMATS;

export type DatabaseRequest =
  | { kind: "detect"; name: DatabaseName; path: string }
  | { kind: "read"; name: DatabaseName; file: DatabaseFile }
  | { kind: "more" };

/** The answer to `read` and `more`. After `isLast`, there is no more to ask for. */
export interface DatabaseBatch {
  events: ImportEvent[];
  isLast: boolean;
  /** Why reading ended early, after these events. */
  problem?: { path: string; reason: string };
  fingerprints?: DatabaseFile["fingerprints"];
}

export type DatabaseReply = boolean | DatabaseBatch;

/** A batch holds the events of this many milliseconds, or one event. */
const BATCH_MS = 20;

/**
 * Ends this process when SQLite does not return, or when the process that started it is gone. A thread can be neither ended nor
 * interrupted while it is in SQLite, so another thread kills the process.
 */
const WATCHDOG = `
  const { ticks, parent } = require("node:worker_threads").workerData;
  let seen = 0;
  let stalledSeconds = 0;
  setInterval(() => {
    const now = Atomics.load(ticks, 0);
    stalledSeconds = now === seen ? stalledSeconds + 1 : 0;
    seen = now;
    if (stalledSeconds >= ${DATABASE_SECONDS_MAX} || process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  }, 1_000);`;

const ticks = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
setInterval(() => Atomics.add(ticks, 0, 1), 250);
new Worker(WATCHDOG, { eval: true, workerData: { ticks, parent: Number(process.argv[2]) } });

let file: DatabaseFile;
let events: AsyncGenerator<ImportEvent>;

process.on("message", async (request: DatabaseRequest) => process.send!(await answer(request)));
process.on("disconnect", () => process.exit());
// The process that started this one decides what Ctrl-C ends.
process.on("SIGINT", () => {});

async function answer(request: DatabaseRequest): Promise<DatabaseReply> {
  if (request.kind === "detect") return isOfFormat(FORMATS[request.name], request.path);
  if (request.kind === "read") {
    file = request.file;
    events = eventsOf(FORMATS[request.name] as DatabaseFormat<string>, file);
  }
  return nextBatch();
}

function isOfFormat({ tables }: Pick<DatabaseFormat<string>, "tables">, path: string): boolean {
  try {
    new ForeignDatabase(path, tables).close();
    return true;
  } catch {
    return false;
  }
}

async function* eventsOf({ tables, eventsIn }: DatabaseFormat<string>, of: DatabaseFile): AsyncGenerator<ImportEvent> {
  const database = new ForeignDatabase(of.path, tables);
  try {
    yield* eventsIn(database, of);
  } finally {
    database.close();
  }
  // Damage to some rows costs no others.
  if (database.damage !== undefined) throw database.damage;
}

async function nextBatch(): Promise<DatabaseBatch> {
  const batch: DatabaseBatch = { events: [], isLast: false };
  const fromMs = performance.now();
  try {
    do {
      const { value, done } = await events.next();
      if (done) return { ...batch, isLast: true, fingerprints: file.fingerprints };
      batch.events.push(value);
    } while (performance.now() - fromMs < BATCH_MS);
    return batch;
  } catch (error) {
    const problem = StoreError.is(error, "IMPORT_UNREADABLE")
      ? error.details
      : { path: file.path, reason: String(error) };
    return { ...batch, isLast: true, problem };
  }
}
