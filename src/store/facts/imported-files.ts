import { createHash } from "node:crypto";
import { Repository } from "../file/repository.ts";
import { importedFiles } from "../sql/schema.ts";

/** Rows of `imported_files`. They hold digests, because a path may name a project that is forgotten later. */
export class ImportedFileRepository extends Repository {
  // A watch asks for thousands of files when it starts.
  readonly #stateOf = this.statement<[pathDigest: string], string>`
    SELECT state_digest FROM imported_files WHERE path_digest = ?`.pluck();

  /** Returns true if the file was imported in this state. */
  has(path: string, state: string): boolean {
    return this.#stateOf.get(sha256Of(path)) === sha256Of(state);
  }

  put(path: string, state: string): void {
    const stateDigest = sha256Of(state);
    this.orm
      .insert(importedFiles)
      .values({ pathDigest: sha256Of(path), stateDigest })
      .onConflictDoUpdate({ target: importedFiles.pathDigest, set: { stateDigest } })
      .run();
  }

  clear(): void {
    this.orm.delete(importedFiles).run();
  }
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
