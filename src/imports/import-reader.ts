import { on } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { StoreError } from "../core/errors.ts";
import type { Importer } from "../importers/importer.ts";
import { IMPORTERS, openImport } from "../importers/registry.ts";
import type { KnownPart } from "../session/moving/intake.ts";
import { inputOf, type PreparedMessage, revived } from "../session/prepared.ts";
import type { ReadReply, ReadRequest, ThreadEvent } from "./import-thread.ts";
import { type FileToRead, type KnownMessages, PartChanged, PartReading } from "./known-part.ts";
import { type RedactedEvent, Redactor } from "./redaction/redact.ts";

/** The thread's module, as source or built. */
const THREAD = new URL(`./import-thread${extname(import.meta.url)}`, import.meta.url);

/** Files are read in a thread if they have this many bytes together. Starting a thread takes 0.1 s and 30 MB. */
const THREAD_BYTES_MIN = 1024 * 1024;

/** The files that a thread may read ahead. How much of them it reads is limited by the batches that the main thread asks for. */
const FILES_AHEAD = 8;

/** The limit of the thread's heap for new objects. A quarter of it would save 20 MB, and take 5 % more time. */
const YOUNG_MB_MAX = 32;

const LAST_REPLIES: ReadonlySet<ReadReply["kind"]> = new Set(["end", "changed", "failed"]);

/** How long a thread waits for another file before it ends, in milliseconds. */
const IDLE_MS_MAX = 2_000;

/** An event of a file. A message from a thread comes with its row for the store. */
export type ReadEvent =
  | Exclude<RedactedEvent, { kind: "message" }>
  | KnownMessages
  | (Extract<RedactedEvent, { kind: "message" }> & { prepared?: PreparedMessage | undefined });

export interface ReadOptions {
  format: string;
  importers: readonly Importer[];
  /** True if the store accepts messages that a thread prepared. */
  takesPrepared: boolean;
  keepSecrets: boolean;
  onFormat: (format: string | undefined) => void;
  /** Called before each `paused` and at the end, with what was read so far. */
  onPart: (part: KnownPart | undefined) => void;
}

/**
 * Reads files, in a thread if they are large or many. The thread is ahead of the main thread, also with the next files. The main
 * thread reads a file itself if custom importers may want it, because functions cannot be posted.
 *
 * If the thread dies, the main thread reads the file again and skips the events that were already yielded. It then also reads all
 * later files.
 */
export class ImportReader {
  #thread: ReadingThread | undefined;
  #isBroken = false;
  #idleTimer: NodeJS.Timeout | undefined;
  /** The files that will be read next, and where each is. */
  #expected: readonly FileToRead[] = [];
  readonly #places = new Map<string, number>();
  #areWorthThread = false;

  expect(files: readonly FileToRead[]): void {
    this.#expected = files;
    this.#places.clear();
    for (const [index, { path }] of files.entries()) this.#places.set(path, index);
    this.#areWorthThread = files.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0) >= THREAD_BYTES_MIN;
  }

  /** Yields the events of a file in order. @throws {StoreError} like `openImport` and its events. @throws {PartChanged} */
  async *read(file: FileToRead, options: ReadOptions): AsyncGenerator<ReadEvent> {
    let yieldedCount = 0;
    if (this.#isWorthThread(file, options)) {
      const isComplete = yield* this.#readInThread(file, options, () => yieldedCount++);
      if (isComplete) return;
      this.#isBroken = true;
    }
    const part = new PartReading(file.known);
    const { format, events } = await openImport(file, options.format, options.importers, (chunks) =>
      part.through(chunks),
    );
    options.onFormat(format);
    const redactor = new Redactor(options);
    for await (const event of part.withKnown(events)) {
      if (event.kind === "paused") options.onPart(part.part);
      if (yieldedCount > 0) yieldedCount -= 1;
      else yield event.kind === "known" ? event : redactor.event(event);
    }
    options.onPart(part.part);
  }

  #isWorthThread({ path, byteLength = 0 }: FileToRead, { takesPrepared, importers }: ReadOptions): boolean {
    if (!takesPrepared || this.#isBroken || byteLength === 0 || importers !== IMPORTERS) return false;
    return byteLength >= THREAD_BYTES_MIN || (this.#areWorthThread && this.#places.has(path));
  }

  /** @returns false if the thread died before the end of the file. */
  async *#readInThread(
    file: FileToRead,
    options: ReadOptions,
    onEvent: () => void,
  ): AsyncGenerator<ReadEvent, boolean> {
    clearTimeout(this.#idleTimer);
    const thread = this.#thread ?? this.#start(file.signal);
    thread.worker.ref();
    let isDone = false;
    try {
      await thread.goTo(file, options);
      for (const next of this.#filesAfter(file, options)) thread.post(next, options);
      for (let reply = await thread.next(); reply !== undefined; reply = await thread.next()) {
        switch (reply.kind) {
          case "opened":
            options.onFormat(reply.format);
            break;
          case "events":
            for (const event of reply.events) {
              onEvent();
              yield revivedEvent(event);
            }
            thread.worker.postMessage("more");
            break;
          case "end":
            isDone = true;
            for (const [id, fingerprint] of reply.fingerprints ?? []) file.fingerprints?.set(id, fingerprint);
            options.onPart(reply.part);
            return true;
          case "changed":
            isDone = true;
            throw new PartChanged();
          case "failed":
            isDone = true;
            throw new StoreError(reply.code, reply.details);
        }
      }
      file.signal?.throwIfAborted();
      return false;
    } finally {
      if (isDone) this.#keepForNext(thread);
      else {
        // The thread is dead, or its caller stopped in the middle of a file.
        this.#drop(thread);
        await thread.end();
      }
    }
  }

  #filesAfter({ path }: FileToRead, options: ReadOptions): FileToRead[] {
    const place = this.#places.get(path);
    if (place === undefined) return [];
    const next = this.#expected.slice(place + 1, place + 1 + FILES_AHEAD);
    return next.filter((file) => this.#isWorthThread(file, options));
  }

  #start(signal: AbortSignal | undefined): ReadingThread {
    const thread = new ReadingThread(signal);
    this.#thread = thread;
    const drop = (): void => this.#drop(thread); // a dead thread would never answer
    thread.worker.on("error", drop).on("exit", drop);
    return thread;
  }

  #drop(thread: ReadingThread): void {
    if (this.#thread === thread) this.#thread = undefined;
  }

  /** Keeps the thread for a short while. The thread does not keep the process alive. */
  #keepForNext(thread: ReadingThread): void {
    thread.worker.unref();
    this.#idleTimer = setTimeout(() => {
      this.#drop(thread);
      void thread.end();
    }, IDLE_MS_MAX).unref();
  }
}

/** The thread, and the files that it was given. It reads them in order. */
class ReadingThread {
  readonly worker = new Worker(THREAD, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } });
  readonly #replies: AsyncIterator<[ReadReply]>;
  /** The oldest is the one to which the next reply belongs. */
  readonly #posted: FileToRead[] = [];

  constructor(signal: AbortSignal | undefined) {
    const options = { close: ["messageerror", "exit"], ...(signal !== undefined && { signal }) };
    this.#replies = on(this.worker, "message", options) as AsyncIterator<[ReadReply]>;
  }

  post(file: FileToRead, { format, keepSecrets }: ReadOptions): void {
    if (this.#posted.some((posted) => isSame(posted, file))) return;
    const { chunks: _, signal: __, ...facts } = file;
    this.worker.postMessage({ file: facts, format, keepSecrets } satisfies ReadRequest);
    this.#posted.push(file);
  }

  /** Passes over what was read ahead in vain, so that the next reply is the first of this file. */
  async goTo(file: FileToRead, options: ReadOptions): Promise<void> {
    this.post(file, options);
    while (!isSame(this.#posted[0]!, file)) {
      const reply = await this.next();
      if (reply === undefined) return;
      if (reply.kind === "events") this.worker.postMessage("more");
    }
  }

  async end(): Promise<void> {
    await this.#replies.return?.();
    await this.worker.terminate();
  }

  /** Returns the next reply, or undefined if the thread is dead or the signal was aborted. */
  async next(): Promise<ReadReply | undefined> {
    try {
      const { value, done } = await this.#replies.next();
      if (done === true) return undefined;
      const [reply] = value;
      if (LAST_REPLIES.has(reply.kind)) this.#posted.shift();
      return reply;
    } catch {
      return undefined; // the thread threw an error, or the signal was aborted
    }
  }
}

/** Returns false if the file was written between the two looks at it. */
function isSame(one: FileToRead, other: FileToRead): boolean {
  const isUnwritten = one.byteLength === other.byteLength && one.isFinished === other.isFinished;
  return one.path === other.path && isUnwritten && one.known?.digest === other.known?.digest;
}

function revivedEvent(event: ThreadEvent): ReadEvent {
  if (event.kind !== "prepared") return event;
  const prepared = revived(event.prepared);
  const message = inputOf(prepared) as Extract<ReadEvent, { kind: "message" }>["message"];
  return { ...event, kind: "message", message, prepared };
}
