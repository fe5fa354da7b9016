import { GrowingFile, type Growth } from "../../importers/growing-file.ts";
import { PAUSE, QUIET } from "../../importers/importer.ts";
import type { FileReport, ImportRun } from "../import-run.ts";

const LINE_FEED = 0x0a;

/**
 * What a look at a live file came to: as `Growth`; or `over`, where its reader has no more use for it: it is in no format that
 * is known, or not yet.
 */
export type LiveGrowth = Growth | "over";

/**
 * A transcript that is being written, with the reader that has read it so far: what comes is read and parsed once, however
 * long the file is.
 */
export class LiveFile {
  readonly #bytes: GrowingFile;
  readonly #chunks = new Conduit();
  readonly #reading: Promise<FileReport>;
  #hasLine = false;
  #hasPaused = false;

  constructor(path: string, run: ImportRun) {
    this.#bytes = new GrowingFile(path);
    this.#reading = run.read({ path, chunks: this.#chunks });
    const over = (): void => this.#chunks.end();
    this.#reading.then(over, over);
  }

  /** When it was last written to, in Unix milliseconds. */
  get grownAtMs(): number {
    return this.#bytes.writtenAtMs;
  }

  /** Whether its reader was told that for now there is no more, and has said so if it can. */
  get hasPaused(): boolean {
    return this.#hasPaused;
  }

  /**
   * Bring what has come since the last look into the store: when this is over, all that is complete is there.
   *
   * @param isResting  Nothing was written for long: what is held, because more may belong to it, goes there, too.
   * @throws what `ImportRun.read` throws, after which it is of no more use; what the file system says.
   */
  async look(isResting: boolean): Promise<LiveGrowth> {
    const growth = await this.#bytes.look(async (chunk) => {
      this.#hasLine ||= chunk.includes(LINE_FEED);
      await this.#give(chunk);
      return !this.#chunks.isEnded;
    });
    if (growth === "other" || (growth === "same" && !isResting)) return growth;
    // Before its first line is whole, its format cannot be told.
    if (this.#hasLine || isResting) {
      await this.#give(isResting ? QUIET : PAUSE);
      this.#hasPaused = true;
    }
    return this.#chunks.isEnded ? "over" : growth;
  }

  /** It has come to its end: whatever is still held of it goes into the store. @throws what `ImportRun.read` throws. */
  close(): Promise<FileReport> {
    this.#chunks.end();
    return this.#reading;
  }

  /** Ends when the reader is done with the chunk, or with the file. */
  async #give(chunk: Uint8Array): Promise<void> {
    await this.#chunks.give(chunk);
    if (this.#chunks.isEnded) await this.#reading;
  }
}

/** Chunks from one who has them to one who reads them, one at a time. */
class Conduit implements AsyncIterableIterator<Uint8Array> {
  #given: Uint8Array | undefined;
  /** Whether nobody gives or reads any more. */
  isEnded = false;
  /** Of a reader that waits. */
  #wake: (() => void) | undefined;
  /** Of a giver whose chunk is being read. */
  #done: (() => void) | undefined;

  /** @returns when the reader asks for the next chunk, or will ask for no more. */
  give(chunk: Uint8Array): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    this.#given = chunk;
    this.#wake?.();
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  /** No more is given, nor read. */
  end(): void {
    this.isEnded = true;
    this.#wake?.();
    this.#done?.();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#given === undefined) {
      this.#done?.();
      if (!this.isEnded) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
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
