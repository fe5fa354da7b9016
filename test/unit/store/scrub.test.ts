import { expect, test } from "vitest";
import { type Store, StoreError } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { emptyPage, inDatabase, loseFromIndex } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** A closed store with more rows than a slice compares. */
function storeOf(messageCount: number): string {
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("a", { project: "p" }).append(talk(messageCount));
  store.close();
  return path;
}

/** Does upkeep until it finds damage. @returns what it says, and how often it ran. */
async function found(store: Store, runs: number): Promise<{ reason: string; after: number } | undefined> {
  for (let after = 1; after <= runs; after += 1) {
    try {
      store.items.put(["runs"], "count", after);
      await store.upkeep();
    } catch (error) {
      if (StoreError.is(error, "STORE_CORRUPT")) return { reason: error.details.reason, after };
      throw error;
    }
  }
  return undefined;
}

const cursor = (store: Store): unknown => store.query("SELECT value FROM store_settings WHERE name = 'scrub'");

test("upkeep goes once round a sound store, in slices, and says nothing", async () => {
  const path = storeOf(1_000);
  const cursors = new Set<string>();
  for (let run = 0; run < 15; run += 1) {
    // The walk goes on in the next process.
    const store = openedStore(path);
    store.items.put(["runs"], "count", run);
    await store.upkeep();
    cursors.add(JSON.stringify(cursor(store)));
    store.close();
  }
  expect(cursors.size).toBeGreaterThan(2);
});

test.each([
  ["row 900 of messages is damaged", "UPDATE messages SET turn_seq = turn_seq + 1 WHERE id = 900"],
  ["row a of sessions is damaged", "UPDATE sessions SET title = 'Another' WHERE id = 'a'"],
])("upkeep comes to what nobody reads: %s", async (reason, damage) => {
  const path = storeOf(1_000);
  inDatabase(path, (database) => database.exec(damage));
  expect((await found(openedStore(path), 50))?.reason).toBe(reason);
});

test("upkeep names an index that lacks a row", async () => {
  const path = storeOf(300);
  loseFromIndex(path, "messages_by_seq", "seq = 200");
  expect((await found(openedStore(path), 50))?.reason).toBe(
    "index messages_by_seq does not have the rows of its table",
  );
});

test("after the first sign of damage, upkeep looks at everything", async () => {
  const path = storeOf(1_000);
  inDatabase(path, (database) => database.exec("UPDATE messages SET turn_seq = turn_seq + 1 WHERE id IN (5, 900)"));
  const store = openedStore(path);
  expect(() => store.resume("a").messages({ limit: 10 })).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  const reason = "row 5 of messages is damaged; row 900 of messages is damaged";
  expect(await found(store, 1)).toEqual({ reason, after: 1 });
});

test("upkeep after which nothing has changed writes nothing", async () => {
  const store = openedStore(storeOf(300));
  store.items.put(["runs"], "count", 1);
  await store.upkeep();
  const before = [cursor(store), internalsOf(store).repositories.database.changeCount()];
  await store.upkeep();
  expect([cursor(store), internalsOf(store).repositories.database.changeCount()]).toEqual(before);
});

test("a page that cannot be read does not stop the walk", async () => {
  const path = storeOf(300);
  emptyPage(path, "store_settings");
  const store = openedStore(path);
  store.items.put(["runs"], "count", 1);
  await store.upkeep().catch(() => {}); // it says that the page is damaged
  expect(cursor(store)).not.toEqual([]);
});
