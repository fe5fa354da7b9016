import { hash } from "node:crypto";
import { Repository } from "../file/repository.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

/** The part of a file that an import has read, to recognize it after the file has grown. */
export interface KnownPart {
  byteLength: number;
  /** The SHA-256 of these bytes. */
  digest: string;
  /** How many messages an importer makes of them before it comes to their end. */
  messageCount: number;
  /** The SHA-256 of the places and ids of these messages. */
  names: string;
}

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
  /** Set if the file may grow and is known to hold only messages that are in the store. `rules` tells how it was read. */
  part?: KnownPart & { rules: string };
}

const FILE = columns(TABLES.importedFiles);

/** Rows of `imported_files`. They hold digests, because a path may name a project that is forgotten later. */
export class ImportedFileRepository extends Repository {
  // A watch asks for thousands of files when it starts.
  readonly #byPath = this.statement<[pathDigest: string], [stateDigest: string, found: string]>`
    SELECT state_digest, found FROM imported_files WHERE path_digest = ?`.raw();
  readonly #put = this.statement<RowOf<typeof FILE>>`${FILE.upsert()}`.run;
  readonly clear = this.statement`DELETE FROM imported_files`.run;

  /** Returns what was found in the file when it was imported last, and if it was in this state. */
  found(path: string, state: string): { found: FoundInFile; isUnchanged: boolean } | undefined {
    const row = this.#byPath.get(sha256Of(path));
    if (row === undefined) return undefined;
    const [stateDigest, found] = row;
    return { found: JSON.parse(found) as FoundInFile, isUnchanged: stateDigest === sha256Of(state) };
  }

  put(path: string, state: string, found: FoundInFile): void {
    this.#put({ pathDigest: sha256Of(path), stateDigest: sha256Of(state), found: JSON.stringify(found) });
  }
}

function sha256Of(text: string): string {
  return hash("sha256", text);
}
