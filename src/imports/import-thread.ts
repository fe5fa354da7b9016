import { parentPort } from "node:worker_threads";
import { type ErrorCode, type ErrorDetails, StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { chunksOf } from "../importers/files.ts";
import type { ImportEvent, ImportFile } from "../importers/importer.ts";
import { openImport } from "../importers/registry.ts";
import { type PostedMessage, posted, prepareApart } from "../session/prepared.ts";

/** A file for the thread to read. The thread opens the file itself, because `chunks` cannot be posted. */
export interface ReadRequest {
  file: Omit<ImportFile, "chunks">;
  format: string;
}

/** An event of a file, with the row that a store keeps in place of a message. */
export type ThreadEvent =
  | Exclude<ImportEvent, { kind: "message" }>
  | { kind: "prepared"; session: string; prepared: PostedMessage; line: number };

/** What the thread posts about the file it reads. `end` and `failed` come last. */
export type ReadReply =
  | { kind: "opened"; format: string | undefined }
  | { kind: "events"; events: ThreadEvent[] }
  | { kind: "end" }
  | { kind: "failed"; code: ErrorCode; details: ErrorDetails[ErrorCode] };

/** The number of batches under way: one is being written while the next is made. */
const BATCHES_AHEAD = 2;

/** A batch is full when its messages have this many characters, even if there are few of them. */
const BATCH_CHARS_MAX = 256 * 1024;

/**
 * The thread of an import that reads. It turns files into events, and messages into the rows that a store keeps, so that the
 * main thread only writes. It takes one file after another, and posts a batch only when one is wanted.
 */
class ReadingThread {
  #wantedCount = 0;
  #wake: () => void = () => {};

  /** Called when the main thread has taken a batch. */
  want(): void {
    this.#wantedCount += 1;
    this.#wake();
  }

  async read({ file, format }: ReadRequest): Promise<void> {
    this.#wantedCount = BATCHES_AHEAD;
    try {
      const opened = await openImport({ ...file, chunks: chunksOf(file.path) }, format);
      post({ kind: "opened", format: opened.format });
      let events: ThreadEvent[] = [];
      let chars = 0;
      for await (const event of opened.events) {
        const prepared = prepare(event);
        events.push(prepared);
        if (prepared.kind === "prepared") chars += prepared.prepared.partsJson.length;
        if (events.length < BATCH_MESSAGES_MAX && chars < BATCH_CHARS_MAX) continue;
        await this.#postBatch(events);
        events = [];
        chars = 0;
      }
      if (events.length > 0) await this.#postBatch(events);
      post({ kind: "end" });
    } catch (error) {
      if (!StoreError.is(error)) throw error; // ends the thread
      post({ kind: "failed", code: error.code, details: error.details });
    }
  }

  async #postBatch(events: ThreadEvent[]): Promise<void> {
    while (this.#wantedCount === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wantedCount -= 1;
    post({ kind: "events", events });
  }
}

function prepare(event: ImportEvent): ThreadEvent {
  if (event.kind !== "message") return event;
  const { session, message, line } = event;
  return { kind: "prepared", session, prepared: posted(prepareApart(message)), line };
}

function post(reply: ReadReply): void {
  parentPort!.postMessage(reply);
}

const thread = new ReadingThread();
parentPort?.on("message", (request: ReadRequest | "more") => {
  if (request === "more") thread.want();
  else void thread.read(request);
});
