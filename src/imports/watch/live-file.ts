import { GrowingFile, type Growth } from "../../importers/growing-file.ts";
import { PAUSE, QUIET } from "../../importers/importer.ts";
import type { FileReport, ImportRun } from "../import-run.ts";

const LINE_FEED = 0x0a;

/** The result of a look at a live file: a `Growth`, or `over` if the importer reads no further. */
type LiveGrowth = Growth | "over";

/** A growing transcript with the importer that has read it so far. New lines are read once, however long the file is. */
export class LiveFile {
  readonly #bytes: GrowingFile;
  readonly #chunks = new ChunkChannel();
  readonly #reading: Promise<FileReport>;
  #hasLine = false;
  #hasPaused = false;

  constructor(path: string, run: ImportRun) {
    this.#bytes = new GrowingFile(path);
    this.#reading = run.read({ path, chunks: this.#chunks });
    const end = (): void => this.#chunks.end();
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
      return !this.#chunks.isEnded;
    });
    if (growth === "other" || (growth === "same" && !isQuiet)) return growth;
    // The format cannot be recognized before the first line is complete.
    if (this.#hasLine || isQuiet) {
      await this.#give(isQuiet ? QUIET : PAUSE);
      this.#hasPaused = true;
    }
    return this.#chunks.isEnded ? "over" : growth;
  }

  /** Ends the file, and imports everything that the importer still holds. @throws what `ImportRun.read` throws. */
  close(): Promise<FileReport> {
    this.#chunks.end();
    return this.#reading;
  }

  /** Returns when the importer has processed the chunk, or has ended. */
  async #give(chunk: Uint8Array): Promise<void> {
    await this.#chunks.give(chunk);
    if (this.#chunks.isEnded) await this.#reading;
  }
}

/** Passes chunks from a giver to a reader, one at a time. */
class ChunkChannel implements AsyncIterableIterator<Uint8Array> {
  #given: Uint8Array | undefined;
  /** True if nobody gives or reads any more. */
  isEnded = false;
  #wakeReader: (() => void) | undefined;
  #wakeGiver: (() => void) | undefined;

  /** Returns when the reader asks for the next chunk, or will ask for no more. */
  give(chunk: Uint8Array): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    this.#given = chunk;
    this.#wakeReader?.();
    return new Promise((resolve) => {
      this.#wakeGiver = resolve;
    });
  }

  end(): void {
    this.isEnded = true;
    this.#wakeReader?.();
    this.#wakeGiver?.();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#given === undefined) {
      this.#wakeGiver?.();
      if (!this.isEnded) {
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    }
    const value = this.#given;
    this.#given = undefined;
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
