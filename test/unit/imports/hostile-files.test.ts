import { join } from "node:path";
import { expect, test } from "vitest";
import { HOSTILE_FILES } from "../../../scripts/hostile/files.ts";
import { chunksOf, walkFiles } from "../../../src/importers/files.ts";
import type { Importer } from "../../../src/importers/importer.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { fileOf } from "../importers/read.ts";

async function importedAlone(kind: string) {
  const folder = temporaryFolder();
  HOSTILE_FILES[kind]!(folder, "hostile");
  const run = new ImportRun(temporaryStore());
  for await (const file of walkFiles([folder])) return run.read({ ...file, isUncertain: false });
  throw new Error("no file");
}

test.each(["view of sessions", "view of messages", "view of parts", "generated column", "virtual table"])(
  "a database with a %s in place of a table is not read",
  async (kind) => {
    expect(await importedAlone(kind)).toMatchObject({ newCount: 0, error: { code: "IMPORT_UNREADABLE" } });
  },
);

test("the reading of a database is stopped at once, even if SQLite does not return", async () => {
  const folder = temporaryFolder();
  HOSTILE_FILES["endless schema"]!(folder, "hostile");
  const path = join(folder, "hostile.db");
  const run = new ImportRun(temporaryStore(), { signal: AbortSignal.timeout(1_500) });
  const fromMs = performance.now();
  await expect(run.read({ path, chunks: chunksOf(path) })).rejects.toThrow("timeout");
  expect(performance.now() - fromMs).toBeLessThan(20_000); // the schema would take for ever
});

test("a trigger of a foreign database never runs", async () => {
  expect(await importedAlone("endless trigger")).toMatchObject({ newCount: 1, error: null });
});

test("a table without end is noticed at the first row that comes again", async () => {
  for (const kind of ["endless tree of sessions", "endless tree of parts"]) {
    const { error } = await importedAlone(kind);
    expect(error?.message).toContain("has more rows than the file can hold");
  }
});

test("a chain of 20,000 sessions comes in", async () => {
  expect(await importedAlone("chain of sessions")).toMatchObject({ newCount: 20, error: null });
});

test("a failure of an importer costs only its file", async () => {
  const failing: Importer = {
    name: "failing",
    detect: (head) => head.startsWith("fail"),
    // biome-ignore lint/correctness/useYield: it fails before its first event.
    async *read() {
      throw new RangeError("Maximum call stack size exceeded");
    },
  };
  const run = new ImportRun(temporaryStore(), { importers: [failing] });
  expect(await run.read(fileOf("fail", 9, "x"))).toMatchObject({
    error: { code: "IMPORT_UNREADABLE", message: "Cannot import x: RangeError: Maximum call stack size exceeded." },
  });
});

test("the reading of a database can be stopped before its first message", async () => {
  const folder = temporaryFolder();
  HOSTILE_FILES["chain of sessions"]!(folder, "hostile");
  const path = join(folder, "hostile.db");
  const stopping = new AbortController();
  setImmediate(() => stopping.abort(new Error("stopped")));
  const run = new ImportRun(temporaryStore(), { signal: stopping.signal });
  await expect(run.read({ path, chunks: chunksOf(path) })).rejects.toThrow("stopped");
});
