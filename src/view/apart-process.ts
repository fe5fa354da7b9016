import { Worker } from "node:worker_threads";
import { type Finding, openStore, StoreError, type VerifyReport } from "../index.ts";
import { readingEmbedder } from "../session/embedder-choice.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { ContextAnswer, Refusal, SqlAnswer, UsageAnswer, VerifyProgress } from "./api.ts";
import { usageAnswer } from "./health.ts";
import { type PastContextRequest, pastContextAnswer } from "./past-context.ts";
import { refusalOf, reportFailure } from "./refusal.ts";
import type { Query } from "./requests.ts";

// The process that does what may take long: it checks a store, runs a person's SQL, adds up usage, and renders contexts of earlier
// moments. A thread could not be ended while it is in SQLite.

export type ApartRequest = { path: string } & (
  | { kind: "doctor" | "verify" }
  | { kind: "usage"; request: Query<"/api/usage"> }
  | { kind: "sql"; query: string }
  | { kind: "context"; request: PastContextRequest }
);

/** @property folder  An empty folder for what the work writes. */
export type ApartTask = ApartRequest & { folder: string };

/** `ready` comes first, and then how far a check of all sessions has come. */
export type ApartReply =
  | "ready"
  | { progress: VerifyProgress }
  | { value: Finding[] | VerifyReport | SqlAnswer | ContextAnswer | UsageAnswer }
  | { refusal: { status: number; body: Refusal } };

/** The memory of SQLite while it runs a person's statement. */
const HEAP_BYTES_MAX = 256 * 1024 * 1024;
const ROWS_MAX = 1_000;
/** The most characters of all rows together, and of one value. */
const CHARS_MAX = 2_000_000;
const VALUE_CHARS_MAX = 20_000;

// It ends with the process that started it, even while it is in SQLite.
const WATCHDOG = `
  const { parent } = require("node:worker_threads").workerData;
  setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 1_000);`;
new Worker(WATCHDOG, { eval: true, workerData: { parent: process.ppid } }).unref();

process.on("SIGINT", () => {}); // the process that started this one decides what Ctrl-C ends
process.once("message", async (task: ApartTask) => {
  process.send!(await answer(task), () => process.exit());
});
process.send!("ready" satisfies ApartReply, (error: Error | null) => {
  if (error !== null) process.exit(); // the process that started this one is gone
});

async function answer(task: ApartTask): Promise<ApartReply> {
  try {
    const store = openStore(task.path, { readonly: true, embedder: readingEmbedder });
    switch (task.kind) {
      case "doctor":
        return { value: store.doctor({ deep: true }) };
      case "verify":
        return {
          value: store.verify({ onProgress: (progress) => void process.send!({ progress } satisfies ApartReply) }),
        };
      case "sql":
        return { value: rowsOf(internalsOf(store).queryRows(task.query, { heapBytesMax: HEAP_BYTES_MAX })) };
      case "usage":
        return { value: usageAnswer(store, task.request) };
      case "context":
        return { value: await pastContextAnswer(store, task.request, task.folder) };
    }
  } catch (error) {
    if (!StoreError.is(error)) reportFailure(error);
    return { refusal: refusalOf(error) };
  }
}

function rowsOf(found: Iterable<Record<string, unknown>>): SqlAnswer {
  const fromMs = performance.now();
  const rows: SqlAnswer["rows"] = [];
  let columns: string[] = [];
  let chars = 0;
  let isCut = false;
  for (const row of found) {
    if (rows.length === ROWS_MAX || chars > CHARS_MAX) {
      isCut = true;
      break;
    }
    columns = Object.keys(row);
    const values = Object.values(row).map(shownValue);
    for (const value of values) chars += String(value).length;
    rows.push(values);
  }
  return { columns, rows, isCut, tookMs: Math.round(10 * (performance.now() - fromMs)) / 10 };
}

function shownValue(value: unknown): string | number | null {
  if (value === null || typeof value === "number") return value;
  if (value instanceof Uint8Array) return `blob of ${value.byteLength} bytes`;
  const text = String(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}
