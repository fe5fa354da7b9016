import { statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { allRows } from "./rows.ts";
import { watchingStatements } from "./statements.ts";
import { openForEvent, type StoreEvent } from "./store-events.ts";
import { copyStore } from "./store-files.ts";
import { temporaryFolder } from "./temporary-store.ts";

/**
 * A store file to which an event can happen, its rows before and after it, and how many statements and frames of the write-ahead log the
 * event takes. The file is as a killed process would have left it: whoever closes a store brings its full-text index up to date, which
 * is an event by itself.
 */
export async function prepared({ prepare, happen, options, rowsOf = allRows }: StoreEvent) {
  const folder = temporaryFolder();
  const open = join(folder, "open.db");
  const store = openForEvent(open, options);
  await prepare(store, open);
  const path = copyStore(open, join(folder, "prepared.db"));
  store.close();
  const before = rowsOf(path); // empties the log into the file, so that what it then has is of the event
  const done = copyStore(path, join(folder, "done.db"));
  const another = openForEvent(done, options);
  const { count, error } = await watchingStatements(
    () => {},
    () => happen(another),
  );
  expect(error).toBeUndefined();
  const logBytes = statSync(`${done}-wal`).size;
  const after = rowsOf(done);
  another.close();
  expect(after).not.toEqual(before);
  expect(count).toBeGreaterThanOrEqual(3); // BEGIN, at least one change, COMMIT
  return { folder, path, before, after, count, logBytes };
}
