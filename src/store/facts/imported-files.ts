import { createHash } from "node:crypto";
import { Repository } from "../file/repository.ts";
import { importedFiles } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";

/** The result of importing a file. It holds until the file changes. */
export interface FoundInFile {
  /** The importer's name, or null for a file in no known format. */
  format: string | null;
  sessionIds: string[];
  messageCount: number;
  forgottenCount: number;
  excludedCount: number;
  /** False if the sessions may lack summaries, because the import has not come to its end. */
  isSummarized: boolean;
}

const FILE = columns(importedFiles);

/** Rows of `imported_files`. They hold digests, because a path may name a project that is forgotten later. */
export class ImportedFileRepository extends Repository {
  // A watch asks for thousands of files when it starts.
  readonly #byState = this.statement<[pathDigest: string, stateDigest: string], string>`
    SELECT found FROM imported_files WHERE path_digest = ? AND state_digest = ?`.pluck();
  readonly #put = this.statement<RowOf<typeof FILE>>`${FILE.upsert()}`.run;
  readonly clear = this.statement`DELETE FROM imported_files`.run;

  /** Returns what was found in the file when it was imported in this state, or undefined if it was not. */
  found(path: string, state: string): FoundInFile | undefined {
    const found = this.#byState.get(sha256Of(path), sha256Of(state));
    return found === undefined ? undefined : (JSON.parse(found) as FoundInFile);
  }

  put(path: string, state: string, found: FoundInFile): void {
    this.#put({ pathDigest: sha256Of(path), stateDigest: sha256Of(state), found: JSON.stringify(found) });
  }
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
