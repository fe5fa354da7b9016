import { join } from "node:path";
import { expect, test } from "vitest";
import { HOSTILE_FILES } from "../../../scripts/hostile/files.ts";
import { importHostile } from "../../../scripts/hostile/import.ts";
import { chunksOf } from "../../../src/importers/files.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

/** SQLite does not return from its first statement on them. */
const STUCK = ["endless schema", "endless statistics"];

test("of 100 files, every good one comes in, whatever the hostile ones between them are", {
  timeout: 600_000,
}, async () => {
  const kinds = Object.keys(HOSTILE_FILES).filter((kind) => !STUCK.includes(kind));
  const { missing } = await importHostile(temporaryFolder(), 100, kinds.length, kinds);
  expect(missing).toBe(0);
});

// A test of the command line does the same to the other kind.
test("a database with endless statistics is given up after ten seconds", async () => {
  const folder = temporaryFolder();
  HOSTILE_FILES["endless statistics"]!(folder, "hostile");
  const path = join(folder, "hostile.db");
  const { error } = await new ImportRun(temporaryStore()).read({ path, chunks: chunksOf(path) });
  expect(error?.message).toMatch(/^Cannot import .*hostile\.db: SQLite did not return for 10 seconds\.$/);
});
