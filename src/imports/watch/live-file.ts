import { ReadableStream, type ReadableStreamDefaultController } from "node:stream/web";
import { PAUSE, QUIET } from "../../importers/importer.ts";
import type { FileReport, ImportRun } from "../import-run.ts";
import { GrowingFile, type Growth } from "./growing-file.ts";

const LINE_FEED = 0x0a;

/** The result of a look at a live file: a `Growth`, or `over` if the importer reads no further. */
type LiveGrowth = Growth | "over";

/** A growing transcript with the importer that has read it so far. New lines are read once, however long the file is. */
export class LiveFile {
  readonly #bytes: GrowingFile;
  readonly #channel = new ChunkChannel();
  readonly #reading: Promise<FileReport>;
  #hasLine = false;
  #hasPaused = false;

  constructor(path: string, run: ImportRun) {
    this.#bytes = new GrowingFile(path);
    this.#reading = run.read({ path, chunks: this.#channel.chunks });
    const end = (): void => this.#channel.end();
    this.#reading.then(end, end);
  }

  /** The time of the last write, in Unix milliseconds. */
  get grownAtMs(): number {
    return this.#bytes.writtenAtMs;
  }

  /** True once the importer has been told to pause. By then its format is known. */
  get hasPaused(): boolean {
    return this.#hasPaused;
  }

  /**
   * Imports what was written since the last look. When this returns, every complete message is in the store.
   *
   * @param isQuiet  True if nothing was written for long. Then incomplete messages are imported too.
   * @throws what `ImportRun.read` throws, after which the object must be dropped; errors of the file system.
   */
  async look(isQuiet: boolean): Promise<LiveGrowth> {
    const growth = await this.#bytes.look(async (chunk) => {
      this.#hasLine ||= chunk.includes(LINE_FEED);
      await this.#give(chunk);
      return !this.#channel.isEnded;
    });
    if (growth === "other" || (growth === "same" && !isQuiet)) return growth;
    // The format cannot be recognized before the first line is complete.
    if (this.#hasLine || isQuiet) {
      await this.#give(isQuiet ? QUIET : PAUSE);
      this.#hasPaused = true;
    }
    return this.#channel.isEnded ? "over" : growth;
  }

  /** Ends the file, and imports everything that the importer still holds. @throws what `ImportRun.read` throws. */
  close(): Promise<FileReport> {
    this.#channel.end();
    return this.#reading;
  }

  /** Returns when the importer has processed the chunk, or has ended. */
  async #give(chunk: Uint8Array): Promise<void> {
    await this.#channel.give(chunk);
    if (this.#channel.isEnded) await this.#reading;
  }
}

/** Passes chunks from a giver to a reader, one at a time. */
class ChunkChannel {
  /** True if nobody gives or reads any more. */
  isEnded = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #wakeGiver: () => void = () => {};
  readonly chunks = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#wakeGiver(),
      cancel: () => this.#stop(),
    },
    { highWaterMark: 0 },
  );

  /** Returns when the reader asks for the next chunk, or will ask for no more. */
  async give(chunk: Uint8Array): Promise<void> {
    if (this.isEnded) return;
    await new Promise<void>((resolve) => {
      this.#wakeGiver = resolve;
      this.#controller!.enqueue(chunk);
    });
  }

  end(): void {
    if (!this.isEnded) this.#controller!.close();
    this.#stop();
  }

  #stop(): void {
    this.isEnded = true;
    this.#wakeGiver();
  }
}
