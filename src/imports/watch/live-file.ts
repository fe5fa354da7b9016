import { ReadableStream, type ReadableStreamDefaultController } from "node:stream/web";
import { PAUSE, QUIET } from "../../importers/importer.ts";
import { LINE_FEED } from "../../importers/lines.ts";
import type { FileReport, ImportRun } from "../import-run.ts";
import type { FileToRead } from "../known-part.ts";
import { GrowingFile, type Growth } from "./growing-file.ts";

/** `over` means that the importer has ended. */
type LiveGrowth = Growth | "over";

/** A growing transcript with the importer that has read it so far. Each line is read only once. */
export class LiveFile {
  readonly #bytes: GrowingFile;
  readonly #channel = new ChunkChannel();
  readonly #reading: Promise<FileReport>;
  #hasLine = false;
  #hasPaused = false;

  constructor({ path, known }: Pick<FileToRead, "path" | "known">, run: ImportRun) {
    this.#bytes = new GrowingFile(path);
    this.#reading = run.read({ path, known, chunks: this.#channel.chunks });
    const end = (): void => this.#channel.end();
    this.#reading.then(end, end);
  }

  get grownAtMs(): number {
    return this.#bytes.writtenAtMs;
  }

  /** True after the first `PAUSE` or `QUIET`. The format is then known. */
  get hasPaused(): boolean {
    return this.#hasPaused;
  }

  /**
   * Imports what was written since the last look. Every complete message is then in the store.
   *
   * @param isQuiet  True if nothing was written for long. Incomplete messages are then imported too.
   * @throws {PartChanged}
   * @throws errors of the file system; what `ImportRun.read` throws. Drop the object after such an error of `read`.
   */
  async look(isQuiet: boolean): Promise<LiveGrowth> {
    const growth = await this.#bytes.look(async (chunk) => {
      this.#hasLine ||= chunk.includes(LINE_FEED);
      await this.#give(chunk);
      return !this.#channel.isEnded;
    });
    if (growth === "other" || (growth === "same" && !isQuiet)) return growth;
    // The format is unknown until the first line is complete.
    if (this.#hasLine || isQuiet) {
      await this.#give(isQuiet ? QUIET : PAUSE);
      this.#hasPaused = true;
    }
    return this.#channel.isEnded ? "over" : growth;
  }

  /** Ends the file and imports what the importer still holds. @throws what `ImportRun.read` throws. */
  close(): Promise<FileReport> {
    this.#channel.end();
    return this.#reading;
  }

  /** Returns when the importer has read the chunk or has ended. */
  async #give(chunk: Uint8Array): Promise<void> {
    await this.#channel.give(chunk);
    if (this.#channel.isEnded) await this.#reading;
  }
}

class ChunkChannel {
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

  /** Returns when the reader asks for the next chunk or has ended. */
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
