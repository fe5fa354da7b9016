import { createHash } from "node:crypto";
import { Repository } from "../file/repository.ts";
import { importedFiles } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";

const FILE = columns(importedFiles);

/** Rows of `imported_files`. They hold digests, because a path may name a project that is forgotten later. */
export class ImportedFileRepository extends Repository {
  // A watch asks for thousands of files when it starts.
  readonly #stateOf = this.statement<[pathDigest: string], string>`
    SELECT state_digest FROM imported_files WHERE path_digest = ?`.pluck();
  readonly #put = this.statement<RowOf<typeof FILE>>`${FILE.upsert()}`.run;
  readonly clear = this.statement`DELETE FROM imported_files`.run;

  /** Returns true if the file was imported in this state. */
  has(path: string, state: string): boolean {
    return this.#stateOf.get(sha256Of(path)) === sha256Of(state);
  }

  put(path: string, state: string): void {
    this.#put({ pathDigest: sha256Of(path), stateDigest: sha256Of(state) });
  }
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
