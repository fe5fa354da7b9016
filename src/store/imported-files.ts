import { createHash } from "node:crypto";
import type { StoreDatabase } from "./open.ts";

/**
 * Rows of `imported_files`. A path may name a project or a session, which `forget` promises to leave no byte of: only digests
 * are kept, and what changes with a file may be told in any words.
 */
export class ImportedFileRepository {
  readonly #stateOf;
  readonly #put;
  readonly #clear;

  constructor({ client }: StoreDatabase) {
    this.#stateOf = client
      .prepare<[string], string>("SELECT state_digest FROM imported_files WHERE path_digest = ?")
      .pluck();
    this.#put = client.prepare<[string, string]>(
      `INSERT INTO imported_files (path_digest, state_digest) VALUES (?, ?)
       ON CONFLICT (path_digest) DO UPDATE SET state_digest = excluded.state_digest`,
    );
    this.#clear = client.prepare<[]>("DELETE FROM imported_files");
  }

  /** Whether it is known that the file was brought in in this state. */
  has(path: string, state: string): boolean {
    return this.#stateOf.get(digestOf(path)) === digestOf(state);
  }

  put(path: string, state: string): void {
    this.#put.run(digestOf(path), digestOf(state));
  }

  /** Of no file it is known any more. */
  clear(): void {
    this.#clear.run();
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
