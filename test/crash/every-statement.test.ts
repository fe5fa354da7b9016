import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { allRows } from "../support/rows.ts";
import { watchingStatements } from "../support/statements.ts";
import { FORGET_EVENTS, openForEvent, STORE_EVENTS, type StoreEvent } from "../support/store-events.ts";
import { temporaryFolder } from "../support/temporary-store.ts";

/**
 * A store file to which the event can happen, and its rows before and after it. As a killed process would have left it:
 * whoever closes a store brings its full-text index up to date, which is an event by itself.
 */
async function prepared({
  prepare,
  happen,
  options,
  rowsOf = allRows,
}: StoreEvent): Promise<{ folder: string; path: string; before: string[]; after: string[]; count: number }> {
  const folder = temporaryFolder();
  const open = join(folder, "open.db");
  const store = openForEvent(open, options);
  await prepare(store, open);
  const path = copyOf(open, join(folder, "prepared.db"));
  const done = copyOf(open, join(folder, "done.db"));
  store.close();
  const another = openForEvent(done, options);
  const { count, error } = await watchingStatements(
    () => {},
    () => happen(another),
  );
  expect(error).toBeUndefined();
  const [before, after] = [rowsOf(path), rowsOf(done)];
  another.close();
  expect(after).not.toEqual(before);
  expect(count).toBeGreaterThanOrEqual(3); // BEGIN, at least one change, COMMIT
  return { folder, path, before, after, count };
}

/** The file with what stands in its write-ahead log: all that a killed process leaves behind. */
function copyOf(path: string, target: string): string {
  for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix);
  return target;
}

/** As before up to some statement, the COMMIT, and as after from there on: most events end with it, some look once more. */
function expectOneStep(states: readonly string[][], before: string[], after: string[]): void {
  const isDone = states.map((rows) => JSON.stringify(rows) === JSON.stringify(after));
  const doneFrom = isDone.includes(true) ? isDone.indexOf(true) : states.length;
  expect(doneFrom).toBeGreaterThanOrEqual(3);
  for (const rows of states.slice(0, doneFrom)) expect(rows).toEqual(before);
  expect(isDone.slice(doneFrom)).not.toContain(false);
}

/** Each as before or as after: of an upkeep, other parts are done although one has failed. */
function expectWhole(states: readonly string[][], before: string[], after: string[]): void {
  for (const rows of states) expect([before, after]).toContainEqual(rows);
  expect(states.filter((rows) => JSON.stringify(rows) === JSON.stringify(before)).length).toBeGreaterThanOrEqual(3);
}

describe.each(Object.entries({ ...STORE_EVENTS, ...FORGET_EVENTS }))("when %s", (_, event) => {
  const rowsOf = event.rowsOf ?? allRows;

  /**
   * Goal: a failure at any statement leaves the file as it was, and the store that failed goes on as if nothing had been.
   * Method: count the event's statements; throw before the first, the second, and so on; look at the rows from another
   * connection; let it happen again in the same store.
   */
  test("a failure before any statement undoes all of it, in the file and in memory", async () => {
    const { folder, path, before, after, count } = await prepared(event);
    const states: string[][] = [];
    for (let number = 1; number <= count; number++) {
      const file = copyOf(path, join(folder, `${number}.db`));
      const store = openForEvent(file, event.options);
      const disk = new Error("the disk is gone");
      await watchingStatements(
        (at) => {
          if (at === number) throw disk;
        },
        () => event.happen(store),
      ).then(({ error }) => expect([disk, event.isUpkeep ? undefined : disk]).toContain(error));
      states.push(rowsOf(file));
      await event.happen(store);
      expect(rowsOf(file)).toEqual(after);
      store.close();
    }
    if (event.isUpkeep) expectWhole(states, before, after);
    else expectOneStep(states, before, after);
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
    const store = openForEvent(file, event.options);
    await watchingStatements(
      (at) => copyOf(file, join(folder, "dead", `${at}.db`)),
      () => event.happen(store),
    );
    const dead = Array.from({ length: count }, (_, index) => join(folder, "dead", `${index + 1}.db`));
    dead.push(copyOf(file, join(folder, "dead", "after.db")));
    store.close();
    const states: string[][] = [];
    for (const copy of dead) {
      const survivor = openForEvent(copy, event.options);
      expect(survivor.verify().problems.filter(({ rebuildable }) => !rebuildable)).toEqual([]);
      states.push(rowsOf(copy));
      survivor.close();
    }
    expect(states.at(-1)).toEqual(after);
    expectOneStep(states, before, after);
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
