import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { indexTailNow } from "../../../src/ingest/index-texts.ts";
import { TESTS_ALL } from "../../support/effort.ts";
import { repositoriesOf, searching } from "../../support/full-text.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const QUERIES = ["parcel5 region", "message region about", "lock key", '"lock region"', "another"];

/** Messages of several lengths, because their mean counts. */
function texts(count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const words = `message ${at} about parcel${at} and lock region `;
    return words + `key${at % 7} `.repeat((at * 13) % 40);
  });
}

function said(path: string, count: number): Store {
  const store = openedStore(path);
  const messages = texts(count).map((text, at) => (at % 2 === 0 ? user(text) : assistant(text)));
  store.session("s").append(messages);
  store.session("other").append(user("another message about another region"));
  return store;
}

function found(path: string): unknown[] {
  const search = searching(path);
  return [{}, { sessionIds: ["s"] }].flatMap((scope) => QUERIES.map((query) => search(query, scope)));
}

/** What is found once the index is made again from the messages. */
function foundAfresh(path: string): unknown[] {
  const repositories = repositoriesOf(path, { readonly: false });
  repositories.database.write("test", () => repositories.fullText.clear());
  indexTailNow(repositories);
  return found(path);
}

/** Damages the index as earlier versions did with SQLite 3.54: what is deleted is subtracted once more from its number of messages. */
function subtractAgain(path: string): void {
  inDatabase(path, (database) => {
    database.unsafeMode(true); // else SQLite protects the tables of the index
    database.exec("UPDATE messages_fts_data SET block = x'0a20' WHERE id = 1");
  });
}

const INDEXING = {
  upkeep: async (store: Store) => {
    await store.upkeep();
    return store;
  },
  resolveDirty: async (store: Store) => {
    await store.session("s").resolveDirty();
    return store;
  },
  reopening: (store: Store, path: string) => {
    store.close();
    return openedStore(path);
  },
};

const CHANGES = {
  rewind: (store: Store, kept: number) => store.session("s").rewind({ toSeq: kept - 1 }),
  edit: (store: Store, kept: number) => store.session("s").edit(kept + 1, user("a lock of another region")),
  forget: (store: Store, kept: number) => {
    const ids = store
      .session("s")
      .messages({ seqFrom: kept })
      .map(({ id }) => id);
    store.forget("s", { messageIds: ids.filter((_, at) => at % 3 > 0) });
  },
};

const COUNTS = TESTS_ALL ? [20, 60, 300, 5_000] : [20, 300];
const CASES = COUNTS.flatMap((count) =>
  Object.keys(INDEXING).flatMap((indexing) => Object.keys(CHANGES).map((change) => [change, count, indexing] as const)),
) as [keyof typeof CHANGES, number, keyof typeof INDEXING][];

test.each(CASES)(
  "after %s of %i messages that were indexed by %s, search is as in a new index",
  async (change, count, indexing) => {
    const path = temporaryPath();
    let store = await INDEXING[indexing](said(path, count), path);
    CHANGES[change](store, Math.floor(count * 0.6));
    expect(store.verify().problems).toEqual([]);
    const hits = found(path);
    expect(hits.filter((of) => (of as unknown[]).length > 0).length).toBeGreaterThan(QUERIES.length);
    const recalled = await store.recall("parcel5 region");
    expect(recalled[0]).toMatchObject({ seq: 5 });
    // Later changes of the same index, too.
    if (change === "rewind") {
      store.session("s").undo();
      expect(store.verify().problems).toEqual([]);
      CHANGES.rewind(store, Math.floor(count * 0.6));
      expect(found(path)).toEqual(hits);
    }
    store = await INDEXING.upkeep(store);
    expect(store.verify().problems).toEqual([]);
    const after = found(path);
    expect(after).toEqual(foundAfresh(path));
  },
);

test("an index whose messages an earlier version subtracted twice is searched, told, and made again by upkeep", async () => {
  for (const indexed of [INDEXING.upkeep, INDEXING.resolveDirty]) {
    const path = temporaryPath();
    const store = await INDEXING.upkeep(said(path, 20));
    const before = await store.recall("parcel5 region");
    subtractAgain(path);
    expect(await store.recall("parcel5 region")).toEqual(before);
    expect(store.verify().problems).toEqual([
      expect.objectContaining({
        text: "the full-text index claims to hold 10 messages, but holds 21",
        rebuildable: true,
      }),
    ]);
    expect(store.doctor()).toContainEqual({
      check: "full-text",
      level: "problem",
      text: "The full-text index claims to hold 10 messages, but holds 21.",
      fix: "The next upkeep makes it again; `await store.upkeep()` does it now.",
    });
    await indexed(store);
    expect(store.doctor()).toContainEqual(expect.objectContaining({ check: "full-text", level: "ok" }));
    expect(store.verify().problems).toEqual([]);
    expect(await store.recall("parcel5 region")).toEqual(before);
  }
});

test("an index whose messages were subtracted twice keeps nobody from taking messages back", async () => {
  const path = temporaryPath();
  const store = await INDEXING.upkeep(said(path, 20));
  subtractAgain(path);
  store.session("s").rewind({ toSeq: 5 });
  await INDEXING.upkeep(store);
  expect(store.verify().problems).toEqual([]);
  expect(found(path)).toEqual(foundAfresh(path));
});

test("of many messages a sample tells how long they are, the same in every process", async () => {
  const path = temporaryPath();
  const store = await INDEXING.upkeep(said(path, 6_000));
  store.forget("s", { messageIds: [2, 3, 700, 701, 702] });
  const { fullText } = repositoriesOf(path);
  const wordCount = texts(6_000).reduce((sum, text) => sum + text.trim().split(" ").length, 0);
  expect(fullText.totals().messageCount).toBe(5_996);
  expect(Math.abs(fullText.totals().wordCount / wordCount - 1)).toBeLessThan(0.1);
  expect(found(path)).toEqual(foundAfresh(path));
});
