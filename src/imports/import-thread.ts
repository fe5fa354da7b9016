import { parentPort } from "node:worker_threads";
import { type ErrorCode, type ErrorDetails, StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { chunksOf } from "../importers/files.ts";
import type { ImportEvent, ImportFile } from "../importers/importer.ts";
import { openImport } from "../importers/registry.ts";
import { type PostedMessage, posted, prepareApart } from "../session/prepared.ts";

/** A file that the thread reads, without what cannot be handed over. */
export interface ReadRequest {
  file: Omit<ImportFile, "chunks">;
  format: string;
}

/** What is in a file; of a message, what a store keeps of it in its stead. */
export type ThreadEvent =
  | Exclude<ImportEvent, { kind: "message" }>
  | { kind: "prepared"; session: string; prepared: PostedMessage; line: number };

/** What the thread says of the file it reads. After `end` or `failed` comes nothing. */
export type ReadReply =
  | { kind: "opened"; format: string | undefined }
  | { kind: "events"; events: ThreadEvent[] }
  | { kind: "end" }
  | { kind: "failed"; code: ErrorCode; details: ErrorDetails[ErrorCode] };

/** Batches that may be under way: one is being written while the next is made. */
const BATCHES_AHEAD = 2;

/** Characters of messages after which a batch is full, however few they are. */
const BATCH_CHARS_MAX = 256 * 1024;

/**
 * The thread of an import that reads: files to events, and messages to what is stored of them, so that the thread that
 * writes does nothing else. It takes one file after another, and says no more of one than it is asked for.
 */
class ReadingThread {
  /** Batches that are asked for. */
  #wanted = 0;
  #isWanted: () => void = () => {};

  /** The writer has taken a batch. */
  want(): void {
    this.#wanted += 1;
    this.#isWanted();
  }

  async read({ file, format }: ReadRequest): Promise<void> {
    this.#wanted = BATCHES_AHEAD;
    try {
      const opened = await openImport({ ...file, chunks: chunksOf(file.path) }, format);
      say({ kind: "opened", format: opened.format });
      let events: ThreadEvent[] = [];
      let chars = 0;
      for await (const event of opened.events) {
        const handed = handOver(event);
        events.push(handed);
        if (handed.kind === "prepared") chars += handed.prepared.partsJson.length;
        if (events.length < BATCH_MESSAGES_MAX && chars < BATCH_CHARS_MAX) continue;
        await this.#give(events);
        events = [];
        chars = 0;
      }
      if (events.length > 0) await this.#give(events);
      say({ kind: "end" });
    } catch (error) {
      if (!StoreError.is(error)) throw error; // ends the thread
      say({ kind: "failed", code: error.code, details: error.details });
    }
  }

  async #give(events: ThreadEvent[]): Promise<void> {
    while (this.#wanted === 0) {
      await new Promise<void>((resolve) => {
        this.#isWanted = resolve;
      });
    }
    this.#wanted -= 1;
    say({ kind: "events", events });
  }
}

function handOver(event: ImportEvent): ThreadEvent {
  if (event.kind !== "message") return event;
  const { session, message, line } = event;
  return { kind: "prepared", session, prepared: posted(prepareApart(message)), line };
}

function say(reply: ReadReply): void {
  parentPort!.postMessage(reply);
}

const thread = new ReadingThread();
parentPort?.on("message", (request: ReadRequest | "more") => {
  if (request === "more") thread.want();
  else void thread.read(request);
});
