import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { ImportRun } from "../../../src/cli/import-run.ts";
import { openStore, type Store } from "../../../src/session/store.ts";
import { samplesBut } from "../../contract/importer-samples.ts";

/** States of a growing file that are imported before all of it: most end in the middle of a line. */
const STATES = 14;

const folder = mkdtempSync(join(tmpdir(), "coppice-growth-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let storeCount = 0;
const emptyStore = (): Store => openStore(join(folder, `${storeCount++}.db`));

async function importBytes(store: Store, path: string, bytes: Uint8Array) {
  const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
  const chunks = (async function* () {
    yield bytes;
  })();
  return run.read({ path, chunks, isPossible: true });
}

/** The parts of each session by role, in no order: a message that had begun when it was first read goes on in a second one. */
function contentOf(store: Store) {
  const content: Record<string, unknown> = {};
  for (const { id } of store.sessions()) {
    const messages = store.resume(id).messages();
    const { parentSessionId, source } = store.resume(id).info();
    const parts = messages.flatMap(({ role, parts }) => parts.map((part) => `${role} ${JSON.stringify(part)}`));
    content[id] = { parentSessionId, source, parts: parts.sort() };
  }
  return content;
}

describe("a file that grows while it is imported again and again", () => {
  test.each(samplesBut("").map((url) => fileURLToPath(url)))("%s", async (path) => {
    const bytes = readFileSync(path);
    const clean = emptyStore();
    await importBytes(clean, path, bytes);
    const grown = emptyStore();
    for (let state = 1; state <= STATES; state++) {
      await importBytes(grown, path, bytes.subarray(0, (bytes.length * state) / (STATES + 1)));
    }
    expect(grown.sessions()).not.toEqual([]);
    expect((await importBytes(grown, path, bytes)).warnings).toEqual([]);
    expect(contentOf(grown)).toEqual(contentOf(clean));
    expect(grown.verify().problems).toEqual([]);
    expect((await importBytes(grown, path, bytes)).newCount).toBe(0);
    clean.close();
    grown.close();
  });
});
