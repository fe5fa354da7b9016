import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { damage, damaged } from "../support/damage.ts";
import { runs, seenIn } from "../support/effort.ts";
import { inDatabase } from "../support/rows.ts";
import { inputOf, talk } from "../support/said.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryFolder, temporaryPath, tickingClock } from "../support/temporary-store.ts";

const SETTINGS = { hotSize: 2, overlap: 0, evictBatch: 2, maxThemes: 2, openClustersMax: 2 };
const IN_FILE = 10;
const IN_ALL = 25;

/** The files of a process that died with ten messages in the store's file and fifteen more in its log, one commit each. */
function leftBehind(): { path: string; said: string[] } {
  const source = temporaryPath();
  const first = openedStore(source);
  const messages = talk(IN_ALL);
  first.session("s", SETTINGS).append(messages.slice(0, IN_FILE));
  first.close(); // empties the log into the file
  const second = openedStore(source);
  for (const message of messages.slice(IN_FILE)) second.session("s").append(message);
  const said = second.resume("s").messages().map(saying);
  return { path: copyStore(source, join(temporaryFolder(), "left.db")), said };
}

function saying(message: Parameters<typeof inputOf>[0]): string {
  return JSON.stringify(inputOf(message));
}

test("a log that is there after a death is replayed to the last message", () => {
  const { path, said } = leftBehind();
  expect(openedStore(path).resume("s").messages().map(saying)).toEqual(said);
});

test("without its log a store is what it was when the log was last emptied", () => {
  const { path, said } = leftBehind();
  rmSync(`${path}-wal`);
  const store = openedStore(path);
  expect(store.resume("s").messages().map(saying)).toEqual(said.slice(0, IN_FILE));
  expect(store.verify()).toMatchObject({ ok: true, messageCount: IN_FILE });
  expect(store.session("s").append({ role: "user", content: "on we go" }).seq).toBe(IN_FILE);
});

/**
 * Goal: whatever a bad disk does to the write-ahead log, the store holds the first so many messages, whole and with
 * nothing half-applied, and goes on from there.
 * Method: cut the log off, or flip up to twelve of its bits, many times; frames carry checksums, so what comes after the
 * first bad one is gone.
 */
test("a damaged log costs the newest messages and nothing else", () => {
  const { path, said } = leftBehind();
  const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
  const target = join(temporaryFolder(), "damaged.db");
  const counts = new Set<number>();
  fc.assert(
    fc.property(damage, (what) => {
      rmSync(`${target}-shm`, { force: true });
      writeFileSync(target, file);
      writeFileSync(`${target}-wal`, damaged(log, what));
      const store = openStore(target, { clock: tickingClock() });
      try {
        const messages = store.resume("s").messages();
        counts.add(messages.length);
        expect(messages.length).toBeGreaterThanOrEqual(IN_FILE);
        expect(messages.map(saying)).toEqual(said.slice(0, messages.length));
        expect(store.verify()).toMatchObject({ ok: true, messageCount: messages.length });
        expect(store.session("s").append({ role: "user", content: "on we go" }).seq).toBe(messages.length);
      } finally {
        store.close();
      }
    }),
    { numRuns: runs(30) },
  );
  expect(counts.size).toBeGreaterThan(seenIn(2)); // of the sixteen that are possible
});

test("the log of another program's database is refused, and not written into the store", () => {
  const { path, said } = leftBehind();
  const other = temporaryPath();
  inDatabase(other, (database) => {
    database.pragma("journal_mode = WAL");
    database.exec("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')");
    copyFileSync(`${other}-wal`, `${path}-wal`);
  });
  expect(() => openedStore(path)).toThrow(expect.objectContaining({ code: "NOT_A_STORE" }));
  rmSync(`${path}-wal`);
  expect(openedStore(path).resume("s").messages().map(saying)).toEqual(said.slice(0, IN_FILE));
});
