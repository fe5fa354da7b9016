import { on } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { StoreError } from "../core/errors.ts";
import type { Importer, ImportFile } from "../importers/importer.ts";
import { IMPORTERS, openImport } from "../importers/registry.ts";
import { inputOf, type PreparedMessage, revived } from "../session/prepared.ts";
import type { ReadReply, ReadRequest, ThreadEvent } from "./import-thread.ts";
import { type RedactedEvent, Redactor } from "./redaction/redact.ts";

/** The thread's module, as source or built. */
const THREAD = new URL(`./import-thread${extname(import.meta.url)}`, import.meta.url);

/** Files of this size or more are read in a thread. Starting a thread takes 0.1 s and 30 MB. */
const THREAD_BYTES_MIN = 1024 * 1024;

/** The limit of the thread's heap for new objects. With a larger heap, garbage would only stay longer. */
const YOUNG_MB_MAX = 8;

/** How long a thread waits for another file before it ends, in milliseconds. */
const IDLE_MS_MAX = 2_000;

/** An event of a file. A message from a thread comes with its row for the store. */
export type ReadEvent =
  | Exclude<RedactedEvent, { kind: "message" }>
  | (Extract<RedactedEvent, { kind: "message" }> & { prepared?: PreparedMessage | undefined });

export interface ReadOptions {
  format: string;
  importers: readonly Importer[];
  /** True if the store accepts messages that a thread prepared. */
  takesPrepared: boolean;
  keepSecrets: boolean;
  onFormat: (format: string | undefined) => void;
}

/**
 * Reads files, large ones in a thread. The main thread reads a file itself if custom importers may want it, because functions
 * cannot be posted.
 *
 * If the thread dies, the main thread reads the file again and skips the events that were already yielded. It then also reads all
 * later files.
 */
export class ImportReader {
  #worker: Worker | undefined;
  #isBroken = false;
  #idleTimer: NodeJS.Timeout | undefined;

  /** Yields the events of a file in order. @throws {StoreError} like `openImport` and its events. */
  async *read(file: ImportFile, options: ReadOptions): AsyncGenerator<ReadEvent> {
    let yieldedCount = 0;
    if (this.#isWorthThread(file, options)) {
      const isComplete = yield* this.#readInThread(file, options, () => yieldedCount++);
      if (isComplete) return;
      this.#isBroken = true;
    }
    const { format, events } = await openImport(file, options.format, options.importers);
    options.onFormat(format);
    const redactor = new Redactor(options);
    for await (const event of events) {
      if (yieldedCount > 0) yieldedCount -= 1;
      else yield redactor.event(event);
    }
  }

  #isWorthThread({ byteLength = 0 }: ImportFile, { takesPrepared, importers }: ReadOptions): boolean {
    return takesPrepared && !this.#isBroken && byteLength >= THREAD_BYTES_MIN && importers === IMPORTERS;
  }

  /** @returns false if the thread died before the end of the file. */
  async *#readInThread(
    { chunks: _, signal, ...file }: ImportFile,
    { format, keepSecrets, onFormat }: ReadOptions,
    onEvent: () => void,
  ): AsyncGenerator<ReadEvent, boolean> {
    clearTimeout(this.#idleTimer);
    const worker = this.#worker ?? this.#start();
    worker.ref();
    let isDone = false;
    try {
      worker.postMessage({ file, format, keepSecrets } satisfies ReadRequest);
      for await (const reply of repliesOf(worker, signal)) {
        switch (reply.kind) {
          case "opened":
            onFormat(reply.format);
            break;
          case "events":
            for (const event of reply.events) {
              onEvent();
              yield revivedEvent(event);
            }
            worker.postMessage("more");
            break;
          case "end":
            isDone = true;
            for (const [id, fingerprint] of reply.fingerprints ?? []) file.fingerprints?.set(id, fingerprint);
            return true;
          case "failed":
            isDone = true;
            throw new StoreError(reply.code, reply.details);
        }
      }
      signal?.throwIfAborted();
      return false;
    } finally {
      if (isDone) this.#keepForNext(worker);
      else {
        // The thread is dead, or its caller stopped in the middle of a file.
        this.#worker = undefined;
        await worker.terminate();
      }
    }
  }

  #start(): Worker {
    const worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } });
    this.#worker = worker;
    const drop = (): void => {
      if (this.#worker === worker) this.#worker = undefined; // a dead thread would never answer
    };
    return worker.on("error", drop).on("exit", drop);
  }

  /** Keeps the thread for a short while. The thread does not keep the process alive. */
  #keepForNext(worker: Worker): void {
    worker.unref();
    this.#idleTimer = setTimeout(() => {
      this.#worker = undefined;
      void worker.terminate();
    }, IDLE_MS_MAX).unref();
  }
}

async function* repliesOf(worker: Worker, signal: AbortSignal | undefined): AsyncGenerator<ReadReply> {
  const messages = on(worker, "message", { close: ["messageerror", "exit"], ...(signal !== undefined && { signal }) });
  try {
    for await (const [reply] of messages) yield reply;
  } catch {
    // The thread threw an error and is dead, or the signal was aborted.
  }
}

function revivedEvent(event: ThreadEvent): ReadEvent {
  if (event.kind !== "prepared") return event;
  const { session, line, replaced } = event;
  const prepared = revived(event.prepared);
  const message = inputOf(prepared) as Extract<ReadEvent, { kind: "message" }>["message"];
  return { kind: "message", session, message, line, prepared, ...(replaced !== undefined && { replaced }) };
}
