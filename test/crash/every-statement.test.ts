import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { allRows } from "../support/rows.ts";
import { watchingStatements } from "../support/statements.ts";
import { openForEvent, STORE_EVENTS, type StoreEvent } from "../support/store-events.ts";
import { temporaryFolder } from "../support/temporary-store.ts";

/** A closed store file to which the event can happen, and its rows before and after it. */
async function prepared({
  prepare,
  happen,
}: StoreEvent): Promise<{ folder: string; path: string; before: string[]; after: string[]; count: number }> {
  const folder = temporaryFolder();
  const path = join(folder, "prepared.db");
  const store = openForEvent(path);
  await prepare(store, path);
  store.close();
  const done = copyOf(path, join(folder, "done.db"));
  const another = openForEvent(done);
  const { count, error } = await watchingStatements(
    () => {},
    () => happen(another),
  );
  expect(error).toBeUndefined();
  another.close();
  const [before, after] = [allRows(path), allRows(done)];
  expect(after).not.toEqual(before);
  expect(count).toBeGreaterThanOrEqual(3); // BEGIN, at least one change, COMMIT
  return { folder, path, before, after, count };
}

/** The file with what stands in its write-ahead log: all that a killed process leaves behind. */
function copyOf(path: string, target: string): string {
  for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix);
  return target;
}

describe.each(Object.entries(STORE_EVENTS))("when %s", (_, event) => {
  /**
   * Goal: a failure at any statement leaves the file as it was, and the store that failed goes on as if nothing had been.
   * Method: count the event's statements; throw before the first, the second, and so on; look at the rows from another
   * connection; let it happen again in the same store.
   */
  test("a failure before any statement undoes all of it, in the file and in memory", async () => {
    const { folder, path, before, after, count } = await prepared(event);
    for (let number = 1; number <= count; number++) {
      const file = copyOf(path, join(folder, `${number}.db`));
      const store = openForEvent(file);
      const disk = new Error("the disk is gone");
      await watchingStatements(
        (at) => {
          if (at === number) throw disk;
        },
        () => event.happen(store),
      ).then(({ error }) => expect(error).toBe(disk));
      expect(allRows(file)).toEqual(before);
      await event.happen(store);
      expect(allRows(file)).toEqual(after);
      store.close();
    }
  });

  /**
   * Goal: a process that dies at any statement leaves a file that equals the one before the event or the one after it.
   * Method: a dead process leaves the bytes that it has handed to the system. So take a copy of them before the first
   * statement, before the second, and so on; open each copy as the next process would. Some real deaths are in
   * kill.test.ts.
   */
  test("a death before any statement leaves the file as before or as after", async () => {
    const { folder, path, before, after, count } = await prepared(event);
    mkdirSync(join(folder, "dead"));
    const file = copyOf(path, join(folder, "dying.db"));
    const store = openForEvent(file);
    await watchingStatements(
      (at) => copyOf(file, join(folder, "dead", `${at}.db`)),
      () => event.happen(store),
    );
    const dead = Array.from({ length: count }, (_, index) => join(folder, "dead", `${index + 1}.db`));
    dead.push(copyOf(file, join(folder, "dead", "after.db")));
    store.close();
    let doneCount = 0;
    for (const copy of dead) {
      const survivor = openForEvent(copy);
      expect(survivor.verify().problems.filter(({ rebuildable }) => !rebuildable)).toEqual([]);
      survivor.close();
      const rows = allRows(copy);
      const isDone = JSON.stringify(rows) === JSON.stringify(after);
      if (isDone) doneCount += 1;
      else expect(rows).toEqual(before);
    }
    expect(doneCount).toBe(1); // the last one, for COMMIT had not run before
  });
});

/**
 * Goal: a process that dies while it makes a store leaves a file that the next one makes a store of.
 * Method: as above, over the statements of the migrations, which run by `exec`, as seen at those that record them.
 */
test("when a store is made, a death before any statement leaves a file that can be opened", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "agent.db");
  const copies: string[] = [];
  await watchingStatements(
    (at) => copies.push(copyOf(path, join(folder, `${at}.db`))),
    () => openForEvent(path).close(),
  );
  expect(copies.length).toBeGreaterThan(5);
  const whole = allRows(path);
  for (const copy of copies) {
    openForEvent(copy).close();
    expect(allRows(copy)).toEqual(whole);
    const store = openStore(copy);
    expect(store.session("s").append({ role: "user", content: "hello" }).seq).toBe(0);
    store.close();
  }
});
