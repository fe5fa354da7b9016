import type { ImportedRows } from "../session/moving/moved-rows.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";

/**
 * Takes the sessions of a file that `store.export({ rows: true })` wrote, each in one transaction. A session that the store has is
 * continued if the file has everything that the store has of it. Otherwise it is refused: two continuations are never merged.
 *
 * @param path  The file.
 * @returns what became of each session, in the order of the file.
 * @throws {StoreError} `ROWS_INVALID`, `FORMAT_UNSUPPORTED`, `FILE_NOT_FOUND`, `FILE_NOT_USABLE`: then nothing was written.
 *   `STORE_READONLY`, `STORE_BUSY`.
 */
export function importRows(store: Store, path: string): ImportedRows[] {
  return internalsOf(store).importRows(path);
}
