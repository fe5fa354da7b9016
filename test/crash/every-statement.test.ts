import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { someOf, someTo } from "../support/effort.ts";
import { prepared } from "../support/prepared-event.ts";
import { allRows } from "../support/rows.ts";
import { watchingStatements } from "../support/statements.ts";
import { FORGET_EVENTS, openForEvent, STORE_EVENTS } from "../support/store-events.ts";
import { copyStore } from "../support/store-files.ts";
import { temporaryFolder } from "../support/temporary-store.ts";

/** How many of the statements of an event are tried in `npm test`, and in `npm run test:all`. */
const SOME = [3, 24] as const;

/** What is in the file if something happens before a statement of that number. */
interface State {
  at: number;
  rows: string[];
}

/** As before up to some statement, the COMMIT, and as after from there on: most events end with it, some look once more. */
function expectOneStep(states: readonly State[], before: string[], after: string[]): void {
  const doneFrom = states.findIndex(({ rows }) => JSON.stringify(rows) === JSON.stringify(after));
  const cut = doneFrom === -1 ? states.length : doneFrom;
  expect(states[cut]?.at ?? states.at(-1)!.at + 1).toBeGreaterThan(3);
  for (const { rows } of states.slice(0, cut)) expect(rows).toEqual(before);
  for (const { rows } of states.slice(cut)) expect(rows).toEqual(after);
}

/** Each as before or as after: of an upkeep, other parts are done although one has failed. */
function expectWhole(states: readonly State[], before: string[], after: string[]): void {
  for (const { rows } of states) expect([before, after]).toContainEqual(rows);
  expect(states.map(({ rows }) => JSON.stringify(rows))).toContain(JSON.stringify(before));
}

describe.each(someOf(Object.entries({ ...STORE_EVENTS, ...FORGET_EVENTS }), 14))("when %s", (_, event) => {
  const { happen, options, rowsOf = allRows, isUpkeep = false } = event;

  /**
   * Goal: a failure at any statement leaves the file as it was, and the store that failed goes on as if nothing had been. A process
   * that dies at any statement leaves a file that equals the one before the event or the one after it.
   * Method: count the event's statements; throw before the first, the second, and so on; look at the rows from another connection; let
   * it happen again in the same store. A dead process leaves the bytes that it has handed to the system. So take a copy of them before
   * the first statement, before the second, and so on; open each copy as the next process would. Some real deaths are in kill.test.ts.
   */
  test("a failure or a death before any statement leaves the file as before or as after, and a store that goes on", async () => {
    const { folder, path, before, after, count } = await prepared(event);
    const failed: State[] = [];
    for (const number of someTo(count, ...SOME)) {
      const file = copyStore(path, join(folder, `${number}.db`));
      const store = openForEvent(file, options);
      const disk = new Error("the disk is gone");
      const { error } = await watchingStatements(
        (at) => {
          if (at === number) throw disk;
        },
        () => happen(store),
      );
      expect([disk, isUpkeep ? undefined : disk]).toContain(error);
      failed.push({ at: number, rows: rowsOf(file) });
      await happen(store);
      expect(rowsOf(file)).toEqual(after);
      store.close();
    }
    if (isUpkeep) expectWhole(failed, before, after);
    else expectOneStep(failed, before, after);

    mkdirSync(join(folder, "dead"));
    const file = copyStore(path, join(folder, "dying.db"));
    const store = openForEvent(file, options);
    const copyAt = (at: number): string => copyStore(file, join(folder, "dead", `${at}.db`));
    const dying = await watchingStatements(copyAt, () => happen(store));
    copyAt(dying.count + 1);
    store.close();
    const dead: State[] = [];
    for (const at of someTo(dying.count + 1, ...SOME)) {
      const copy = join(folder, "dead", `${at}.db`);
      const survivor = openForEvent(copy, options);
      expect(survivor.verify().problems.filter(({ rebuildable }) => !rebuildable)).toEqual([]);
      dead.push({ at, rows: rowsOf(copy) });
      survivor.close();
    }
    expect(dead.at(-1)!.rows).toEqual(after);
    expectOneStep(dead, before, after);
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
    (at) => copies.push(copyStore(path, join(folder, `${at}.db`))),
    () => openForEvent(path).close(),
  );
  expect(copies.length).toBeGreaterThan(5);
  const whole = allRows(path);
  for (const copy of someOf(copies, 6)) {
    openForEvent(copy).close();
    expect(allRows(copy)).toEqual(whole);
    const store = openStore(copy);
    expect(store.session("s").append({ role: "user", content: "hello" }).seq).toBe(0);
    store.close();
  }
});
