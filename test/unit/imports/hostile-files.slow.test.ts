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

test(`a database with ${STUCK.join(" or ")} is given up after ten seconds`, async () => {
  const reports = STUCK.map((kind) => {
    const folder = temporaryFolder();
    HOSTILE_FILES[kind]!(folder, "hostile");
    const path = join(folder, "hostile.db");
    return new ImportRun(temporaryStore()).read({ path, chunks: chunksOf(path) });
  });
  for (const { error } of await Promise.all(reports)) {
    expect(error?.message).toMatch(/^Cannot import .*hostile\.db: SQLite did not return for 10 seconds\.$/);
  }
});
