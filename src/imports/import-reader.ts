import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { StoreError } from "../core/errors.ts";
import type { ImportEvent, ImportFile } from "../importers/importer.ts";
import { openImport } from "../importers/registry.ts";
import { inputOf, type PreparedMessage, revived } from "../session/prepared.ts";
import type { ReadReply, ReadRequest, ThreadEvent } from "./import-thread.ts";

/** The very module beside this one, built or not. */
const THREAD = new URL(`./import-thread${extname(import.meta.url)}`, import.meta.url);

/** Bytes of a file from which on it is worth a thread, which takes a tenth of a second to start and 30 MB. */
export const THREAD_BYTES_MIN = 1024 * 1024;

/** Of the thread's memory: what it makes is handed over at once, so room for more of it would only stay empty for longer. */
const YOUNG_MB_MAX = 8;

/** How long a thread waits for another file. */
const IDLE_MS_MAX = 2_000;

/** What is in a file. A message from a thread brings what is stored of it. */
export type ReadEvent =
  | Exclude<ImportEvent, { kind: "message" }>
  | (Extract<ImportEvent, { kind: "message" }> & { prepared?: PreparedMessage | undefined });

export interface ReadOptions {
  /** One of `IMPORT_FORMATS`. */
  format: string;
  /** Whether the store takes what is prepared elsewhere. */
  takesPrepared: boolean;
  /** Called once, before the first event. */
  onFormat: (format: string | undefined) => void;
}

/**
 * Reads files, large ones in a thread of its own.
 *
 * A thread that dies costs nothing: the file is read again in this one, and what had come of it is passed over. From then
 * on everything is read here.
 */
export class ImportReader {
  #worker: Worker | undefined;
  #isBroken = false;
  #idle: NodeJS.Timeout | undefined;

  /** The events of a file, in order. @throws {StoreError} as `openImport` and what it gives. */
  async *read(file: ImportFile, options: ReadOptions): AsyncGenerator<ReadEvent> {
    let passedOver = 0;
    if (this.#isWorthThread(file, options)) {
      const isRead = yield* this.#readInThread(file, options, () => passedOver++);
      if (isRead) return;
      this.#isBroken = true;
    }
    const { format, events } = await openImport(file, options.format);
    options.onFormat(format);
    for await (const event of events) {
      if (passedOver > 0) passedOver -= 1;
      else yield event;
    }
  }

  #isWorthThread({ byteLength = 0 }: ImportFile, { takesPrepared }: ReadOptions): boolean {
    return takesPrepared && !this.#isBroken && byteLength >= THREAD_BYTES_MIN;
  }

  /** @returns whether the file was read to its end: otherwise the thread has died, after as many events as were given. */
  async *#readInThread(
    { chunks: _, ...file }: ImportFile,
    { format, onFormat }: ReadOptions,
    onEvent: () => void,
  ): AsyncGenerator<ReadEvent, boolean> {
    clearTimeout(this.#idle);
    const worker = this.#worker ?? this.#start();
    worker.ref();
    let isDone = false;
    try {
      worker.postMessage({ file, format } satisfies ReadRequest);
      for await (const reply of repliesOf(worker)) {
        switch (reply.kind) {
          case "opened":
            onFormat(reply.format);
            break;
          case "events":
            for (const event of reply.events) {
              onEvent();
              yield takeOver(event);
            }
            worker.postMessage("more");
            break;
          case "end":
            isDone = true;
            return true;
          case "failed":
            isDone = true;
            throw new StoreError(reply.code, reply.details);
        }
      }
      return false;
    } finally {
      if (isDone) this.#rest(worker);
      else {
        // It is dead, or in the middle of a file that nobody reads on.
        this.#worker = undefined;
        await worker.terminate();
      }
    }
  }

  #start(): Worker {
    const worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } });
    this.#worker = worker;
    const drop = (): void => {
      if (this.#worker === worker) this.#worker = undefined; // one that is dead would never answer
    };
    return worker.on("error", drop).on("exit", drop);
  }

  /** It keeps no process alive, nor itself for long. */
  #rest(worker: Worker): void {
    worker.unref();
    this.#idle = setTimeout(() => {
      this.#worker = undefined;
      void worker.terminate();
    }, IDLE_MS_MAX).unref();
  }
}

/** What a thread says, until it is dead. */
async function* repliesOf(worker: Worker): AsyncGenerator<ReadReply> {
  const replies: ReadReply[] = [];
  let isDead = false;
  let wake = (): void => {};
  const onMessage = (reply: ReadReply): void => {
    replies.push(reply);
    wake();
  };
  const onEnd = (): void => {
    isDead = true;
    wake();
  };
  worker.on("message", onMessage).on("messageerror", onEnd).on("error", onEnd).on("exit", onEnd);
  try {
    for (;;) {
      const reply = replies.shift();
      if (reply !== undefined) yield reply;
      else if (isDead) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    worker.off("message", onMessage).off("messageerror", onEnd).off("error", onEnd).off("exit", onEnd);
  }
}

function takeOver(event: ThreadEvent): ReadEvent {
  if (event.kind !== "prepared") return event;
  const { session, line } = event;
  const prepared = revived(event.prepared);
  const message = inputOf(prepared) as Extract<ReadEvent, { kind: "message" }>["message"];
  return { kind: "message", session, message, line, prepared };
}
