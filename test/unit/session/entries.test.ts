import fc from "fast-check";
import { expect, test } from "vitest";
import type { ListEntriesOptions } from "../../../src/session/entries.ts";
import { runs } from "../../support/effort.ts";
import { nastyJson } from "../../support/message-arbitraries.ts";
import { inDatabase } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

test("entries come back as they were written, in order, from another process too", () => {
  fc.assert(
    fc.property(fc.array(nastyJson, { maxLength: 8 }), (values) => {
      const path = temporaryPath();
      openedStore(path)
        .session("s")
        .entries.append(values.map((value) => ({ value })));
      const entries = openedStore(path).session("s").entries.list();
      expect(entries.map(({ value }) => value)).toEqual(values);
    }),
    { numRuns: runs(8) },
  );
});

test("an entry says which message comes next", () => {
  const session = temporaryStore().session("s");
  session.entries.append([{ value: "before all" }]);
  session.append([user("one"), user("two")]);
  session.entries.append([{ value: "after two" }, { value: "after two, again" }]);
  session.append(user("three"));
  expect(session.entries.list().map(({ beforeSeq, value }) => [beforeSeq, value])).toEqual([
    [0, "before all"],
    [2, "after two"],
    [2, "after two, again"],
  ]);
});

test("an entry with a known id is skipped, or replaces the other in its place", () => {
  const { entries } = temporaryStore().session("s");
  const [first] = entries.append([
    { id: "a", value: 1 },
    { id: "b", value: 2 },
  ]);
  expect(
    entries.append([
      { id: "a", value: 9 },
      { id: "c", value: 3 },
    ]),
  ).toMatchObject([{ position: first!.position, appended: false }, { appended: true }]);
  expect(entries.list().map(({ id, value }) => [id, value])).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ]);
  entries.append(
    [
      { id: "b", value: 20 },
      { id: "b", value: 21 },
      { id: "d", value: 4 },
    ],
    { known: "replace" },
  );
  expect(entries.list().map(({ id, value }) => [id, value])).toEqual([
    ["a", 1],
    ["b", 21],
    ["c", 3],
    ["d", 4],
  ]);
  expect(entries.append([{ value: 1 }, { value: 1 }]).every(({ appended }) => appended)).toBe(true);
});

test("pages follow one another, and each session has its own", () => {
  const store = temporaryStore();
  const [a, b] = [store.session("a").entries, store.session("b").entries];
  for (let n = 0; n < 10; n++) {
    a.append([{ id: "same", value: -1 }, { value: n }]);
    b.append([{ id: "same", value: -2 }, { value: n }]);
  }
  const read: unknown[] = [];
  for (let after = 0; ; ) {
    const page = a.list({ after, limit: 3 });
    if (page.length === 0) break;
    read.push(...page.map(({ value }) => value));
    after = page.at(-1)!.position;
  }
  expect(read).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(a.list({ limit: 0 })).toEqual([]);
});

test("a long entry is compressed, and a short one can be read with SQL", () => {
  const store = temporaryStore();
  const { entries } = store.session("s");
  const long = { text: "the same words ".repeat(50_000) };
  entries.append([{ value: long }, { value: { kind: "short" } }]);
  expect(entries.list().map(({ value }) => value)).toEqual([long, { kind: "short" }]);
  const rows = store.query("SELECT encoding, length(value) AS bytes, value FROM entries ORDER BY id");
  expect(rows[0]).toMatchObject({ encoding: "deflated json" });
  expect(rows[0]!.bytes).toBeLessThan(20_000);
  expect(rows[1]).toMatchObject({ encoding: "json", value: '{"kind":"short"}' });
});

test("what cannot be stored is refused without a word of it, and nothing of the call is stored", () => {
  const { entries } = temporaryStore().session("s");
  const cycle: Record<string, unknown> = { secret: "sk-12345" };
  cycle.self = cycle;
  for (const value of [new Date(), Number.NaN, () => "sk-12345", 1n, cycle, new Map([["sk-12345", 1]]), undefined]) {
    let error: unknown;
    try {
      entries.append([{ value: 1 }, { value: { deep: [value] } }]);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code: "VALUE_INVALID" });
    expect(String((error as Error).message)).not.toContain("sk-12345");
  }
  expect(() => entries.append([{ value: 1, id: "" }])).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  expect(() => entries.append("no list" as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  expect(() => entries.append([], { known: "merge" as never })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
  expect(entries.list()).toEqual([]);
});

test("entries go with their session, and no others", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const [gone, kept] = [store.session("gone"), store.session("kept")];
  gone.entries.append([{ value: "quicksilver" }]);
  kept.entries.append([{ value: "stays" }]);
  expect(store.forget("gone")).toMatchObject({ erased: true });
  expect(store.query("SELECT session_id FROM entries")).toEqual([{ session_id: "kept" }]);
  expect(() => gone.entries.append([{ value: 1 }])).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  expect(gone.entries.list()).toEqual([]);
});

test("no search and no context shows an entry", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(user("hello"));
  session.entries.append([{ value: { text: "quicksilver" } }]);
  expect(await store.recall("quicksilver")).toEqual([]);
  expect(JSON.stringify(session.render())).not.toContain("quicksilver");
});

test("verify counts entries, and names a damaged one, which is refused when it is read", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("s").entries.append([{ value: 1 }, { value: 2 }]);
  expect(store.verify()).toMatchObject({ ok: true, entryCount: 2, itemCount: 0 });
  inDatabase(path, (database) => database.exec("UPDATE entries SET value = '3' WHERE value = '2'"));
  expect(store.verify()).toMatchObject({ ok: false, problems: [{ text: "row 2 of entries is damaged" }] });
  expect(() => store.session("s").entries.list()).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
});

test("are listed from either end, in pages", () => {
  const { entries } = temporaryStore().session("s");
  const positions = entries.append([1, 2, 3, 4].map((value) => ({ value }))).map(({ position }) => position);
  const values = (options: ListEntriesOptions) => entries.list(options).map(({ value }) => value);
  expect(values({ after: positions[1]!, limit: 1 })).toEqual([3]);
  expect(values({ descending: true })).toEqual([4, 3, 2, 1]);
  expect(values({ descending: true, limit: 2 })).toEqual([4, 3]);
  expect(values({ descending: true, limit: 2, after: positions[2]! })).toEqual([2, 1]);
  expect(values({ descending: true, after: positions[0]! })).toEqual([]);
});
