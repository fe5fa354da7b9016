import { Worker } from "node:worker_threads";
import { StoreError } from "../core/errors.ts";
import { DATABASE_SECONDS_MAX } from "../core/limits.ts";
import { cursorEvents, isCursor } from "./cursor/database.ts";
import type { DatabaseFile } from "./foreign-database.ts";
import { gooseEvents, isGoose } from "./goose/database.ts";
import type { ImportEvent } from "./importer.ts";
import { isOpencode } from "./opencode/database.ts";
import { opencodeEvents } from "./opencode/database-events.ts";
import { isZed, zedEvents } from "./zed/database.ts";

// The process that reads databases. It answers one request at a time.

const FORMATS = {
  opencode: { isOfFormat: isOpencode, eventsOf: opencodeEvents },
  goose: { isOfFormat: isGoose, eventsOf: gooseEvents },
  zed: { isOfFormat: isZed, eventsOf: zedEvents },
  cursor: { isOfFormat: isCursor, eventsOf: cursorEvents },
};

export type DatabaseFormat = keyof typeof FORMATS;

export type DatabaseRequest =
  | { kind: "detect"; format: DatabaseFormat; path: string }
  | { kind: "read"; format: DatabaseFormat; file: DatabaseFile }
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
new Worker(WATCHDOG, { eval: true, workerData: { ticks, parent: process.ppid } });

let file: DatabaseFile;
let events: AsyncGenerator<ImportEvent>;

process.on("message", async (request: DatabaseRequest) => process.send!(await answer(request)));
process.on("disconnect", () => process.exit());
// The process that started this one decides what Ctrl-C ends.
process.on("SIGINT", () => {});

async function answer(request: DatabaseRequest): Promise<DatabaseReply> {
  if (request.kind === "detect") return FORMATS[request.format].isOfFormat(request.path);
  if (request.kind === "read") {
    file = request.file;
    events = FORMATS[request.format].eventsOf(file);
  }
  return nextBatch();
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
