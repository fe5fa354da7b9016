import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StoreError } from "../core/errors.ts";

/** The lengths of the values and of the body, before each record. */
const LENGTHS_BYTES = 8;

/** Where a kind of records is in the file. */
interface Section {
  from: number;
  to: number;
}

/**
 * A temporary file of records, which come from the network one after the other and are then read in one transaction, in any order of
 * their kinds. It is beside the store, because the folder for temporary files may be in memory.
 */
export class Spool {
  readonly #file: number;
  readonly #path: string;
  readonly #sections = new Map<string, Section>();
  #end = 0;

  /** @throws {StoreError} `FILE_NOT_USABLE`. */
  constructor(storePath: string) {
    this.#path = storePath;
    this.#file = this.#attempt(() => {
      const folder = mkdtempSync(join(storePath === ":memory:" ? tmpdir() : dirname(storePath), ".coppice-pull-"));
      try {
        return openSync(join(folder, "rows"), "wx+", 0o600);
      } finally {
        rmSync(folder, { recursive: true, force: true }); // the file lives until it is closed
      }
    });
  }

  /** Adds a record. All records of a kind come one after the other. */
  add(kind: string, values: object, body: Buffer): void {
    const json = Buffer.from(JSON.stringify(values));
    const lengths = Buffer.alloc(LENGTHS_BYTES);
    lengths.writeUInt32LE(json.length, 0);
    lengths.writeUInt32LE(body.length, 4);
    const section = this.#sections.get(kind) ?? { from: this.#end, to: this.#end };
    for (const bytes of [lengths, json, body]) this.#write(bytes);
    this.#sections.set(kind, { ...section, to: this.#end });
  }

  get kinds(): string[] {
    return [...this.#sections.keys()];
  }

  /** Yields the records of a kind in their order. */
  *records<Values>(kind: string): Generator<Values & { body: Buffer }> {
    const { from, to } = this.#sections.get(kind) ?? { from: 0, to: 0 };
    for (let at = from; at < to; ) {
      const lengths = this.#read(at, LENGTHS_BYTES);
      const [jsonLength, bodyLength] = [lengths.readUInt32LE(0), lengths.readUInt32LE(4)];
      const bytes = this.#read(at + LENGTHS_BYTES, jsonLength + bodyLength);
      at += LENGTHS_BYTES + bytes.length;
      yield Object.assign(JSON.parse(bytes.toString("utf8", 0, jsonLength)), { body: bytes.subarray(jsonLength) });
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      done += this.#attempt(() => writeSync(this.#file, bytes, done, bytes.length - done, this.#end + done));
    }
    this.#end += bytes.length;
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const count = this.#attempt(() => readSync(this.#file, bytes, done, length - done, at + done));
      if (count === 0)
        throw new StoreError("FILE_NOT_USABLE", { path: this.#path, reason: "a temporary file was cut" });
      done += count;
    }
    return bytes;
  }

  #attempt<T>(run: () => T): T {
    try {
      return run();
    } catch (cause) {
      const reason = `no temporary file can be written beside it (${(cause as NodeJS.ErrnoException).code})`;
      throw new StoreError("FILE_NOT_USABLE", { path: this.#path, reason }, { cause });
    }
  }
}
