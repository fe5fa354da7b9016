import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { Store } from "../../../src/session/store.ts";
import { samplesBut } from "../../contract/importer-samples.ts";
import { runs, seenIn } from "../../support/effort.ts";
import { temporaryStore } from "../../support/temporary-store.ts";
import { fileOf } from "../importers/read.ts";

/** The number of states of a growing file. They end at random bytes, most in the middle of a line. */
const STATES = 6;

async function importBytes(store: Store, path: string, bytes: Uint8Array, isFinished = false, keepSecrets = false) {
  const run = new ImportRun(store, { format: "auto", keepSecrets, onProgress: () => {} });
  return run.read({ ...fileOf(bytes, bytes.length + 1, path), isUncertain: true, isFinished });
}

/** Returns the messages of each session in order, without facts that a file gives later, such as usage. */
function contentOf(store: Store) {
  const content: Record<string, unknown> = {};
  for (const { id } of store.sessions()) {
    const { parentSessionId, source } = store.resume(id).info();
    const messages = store.resume(id).messages();
    const said = messages.map(({ externalId, role, name, parts }) => [externalId, role, name, parts]);
    content[id] = { parentSessionId, source, said };
  }
  return content;
}

/**
 * Goal: a file that was imported while it grew comes to the store that it comes to when it is imported once.
 * Method: import each sample at places drawn at random, then all of it; compare it with a store that has seen only the whole.
 */
describe("a file that grows while it is imported again and again", () => {
  test.each(samplesBut("").map((url) => fileURLToPath(url)))("%s", async (path) => {
    const bytes = readFileSync(path);
    const clean = temporaryStore();
    await importBytes(clean, path, bytes, true);
    let readEarly = 0; // a beginning may be too short to tell its format
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { minLength: STATES, maxLength: STATES }), async (cuts) => {
        const grown = temporaryStore();
        for (const cut of cuts.sort((a, b) => a - b)) await importBytes(grown, path, bytes.subarray(0, cut));
        readEarly += grown.sessions().length;
        expect((await importBytes(grown, path, bytes, true)).warnings).toEqual([]);
        expect(contentOf(grown)).toEqual(contentOf(clean));
        expect(grown.verify().problems).toEqual([]);
        expect((await importBytes(grown, path, bytes, true)).newCount).toBe(0);
        grown.close();
      }),
      { numRuns: runs(5) },
    );
    expect(readEarly).toBeGreaterThan(seenIn(0));
  });
});

/**
 * Goal: a file of plain text whose writer rested in the middle of a message loses none of the lines that follow.
 * Method: import each sample cut behind each line as if it were finished, then the whole; compare the lines and calls in order.
 */
describe("a finished text that goes on in the middle of a message keeps every line, once and in order", () => {
  const texts = samplesBut("").filter(({ pathname }) => pathname.endsWith(".md"));
  test.each(texts.map((url) => fileURLToPath(url)))("%s", async (path) => {
    const linesOf = (store: Store) =>
      store.sessions().flatMap(({ id }) => {
        const messages = store.resume(id).messages();
        const parts = messages.flatMap(({ role, parts }) => parts.map((part) => ({ role, part })));
        return parts.flatMap(({ role, part }) => {
          const lines =
            part.type === "text" || part.type === "reasoning" ? part.text.split("\n") : [JSON.stringify(part)];
          return lines.filter(Boolean).map((line) => `${role}: ${line}`);
        });
      });
    const bytes = readFileSync(path);
    const clean = temporaryStore();
    await importBytes(clean, path, bytes, true);
    const whole = linesOf(clean);
    for (const [index, byte] of bytes.entries()) {
      if (byte !== 0x0a) continue;
      const grown = temporaryStore();
      await importBytes(grown, path, bytes.subarray(0, index + 1), true);
      expect((await importBytes(grown, path, bytes, true)).warnings).toEqual([]);
      expect(linesOf(grown)).toEqual(whole);
      grown.close();
    }
  });
});

test("lines that a text grew by keep their indentation, and secrets that were to be kept", async () => {
  const path = "/work/notes.md";
  const said = "## User\n\nUse these steps:\n";
  const more = "\n    1. set GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a\n    2. weigh anchor\n";
  const store = temporaryStore();
  await importBytes(store, path, Buffer.from(`${said}\n## Assistant\n\nFirst:`), true, true);
  await importBytes(store, path, Buffer.from(`${said}\n## Assistant\n\nFirst:${more}`), true, true);
  const texts = store.sessions().flatMap(({ id }) =>
    store
      .resume(id)
      .messages()
      .map(({ text }) => text),
  );
  expect(texts.slice(1)).toEqual(["First:", more.slice(1, -1)]);
});
