import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { ViewStore } from "../../../src/view/view-store.ts";
import { user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const MB = 1_000_000;

function logBytes(store: Store): number {
  return statSync(`${store.path}-wal`).size;
}

function reading(store: Store): Store {
  const reader = openStore(store.path, { readonly: true });
  onTestFinished(() => reader.close());
  return reader;
}

/** Writes 400 kB every few milliseconds. */
function writtenTo(store: Store): { stop: () => Promise<void>; count: () => number } {
  const { client } = internalsOf(store).repositories.database;
  client.exec("CREATE TABLE filler (bytes)");
  let isOver = false;
  let count = 0;
  const writing = (async () => {
    for (; !isOver; await sleep(2), count++) client.exec("INSERT INTO filler VALUES (randomblob(400000))");
  })();
  const stop = () => {
    isOver = true;
    return writing;
  };
  onTestFinished(stop);
  return { stop, count: () => count };
}

/** Begins a read of another process. Returns what ends it. */
function begunRead(reader: Store): () => void {
  const { client } = internalsOf(reader).repositories.database;
  client.exec("BEGIN");
  client.prepare("SELECT count(*) FROM messages").get();
  return () => client.exec("COMMIT");
}

test("the log begins anew and is cut short, although some reader reads all the time", async () => {
  const store = temporaryStore();
  const readers = [reading(store), reading(store), reading(store)];
  const { stop, count } = writtenTo(store);
  let isOver = false;
  let readCount = 0;
  let bytesMax = 0;
  const loops = readers.map(async (reader, index) => {
    for (await sleep(20 * index); !isOver; readCount++) {
      await internalsOf(reader).turnToRead();
      const end = begunRead(reader);
      await sleep(60);
      end();
      bytesMax = Math.max(bytesMax, logBytes(store));
    }
  });
  while (count() < 300) await sleep(20); // 120 MB
  isOver = true;
  await Promise.all(loops);
  await stop();
  expect(readCount).toBeGreaterThan(20);
  expect(bytesMax).toBeGreaterThan(16 * MB);
  expect(bytesMax).toBeLessThan(80 * MB);
  for (let again = 0; again < 2; again++) store.session("s").append(user("One more."));
  expect(logBytes(store)).toBeLessThan(20 * MB);
});

test.each<[string, (reader: Store) => Promise<unknown>]>([
  ["recall", (reader) => reader.recall("harbor lock", { limit: 1 })],
  ["the view", (reader) => new ViewStore(() => reader, false).read((store) => store.stats())],
])("%s waits while the log is long and grows, and no longer than a second", async (_name, read) => {
  const store = temporaryStore();
  store.session("s").append(user("The harbor lock."));
  const end = begunRead(reading(store));
  const { stop } = writtenTo(store);
  while (logBytes(store) < 36 * MB) await sleep(10);
  const reader = reading(store);
  let isRead = false;
  const waiting = read(reader).then(() => {
    isRead = true;
  });
  await sleep(300);
  expect(isRead).toBe(false);
  end();
  await waiting;
  while (logBytes(store) > 20 * MB) await sleep(1); // it begins anew

  const endAgain = begunRead(reading(store));
  while (logBytes(store) < 36 * MB) await sleep(10);
  const startedAtMs = performance.now();
  await read(reader);
  expect(performance.now() - startedAtMs).toBeGreaterThan(900);
  await stop();
  await sleep(1_100); // nobody writes, so it need not wait
  const quietAtMs = performance.now();
  await read(reader);
  expect(performance.now() - quietAtMs).toBeLessThan(800);
  endAgain();
});
