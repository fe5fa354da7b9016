import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { allRows } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

function storeOfOne(): Store {
  const store = temporaryStore();
  store.session("s").append(user("hello"));
  return store;
}

describe("query", () => {
  test("binds values by position and by name, so that no text of theirs is read as SQL", () => {
    const store = storeOfOne();
    const odd = "x' OR 1 = 1 --";
    expect(store.query("SELECT session_id FROM messages WHERE session_id = ?", [odd])).toEqual([]);
    expect(store.query("SELECT session_id, :n AS n FROM messages WHERE session_id = :id", { id: "s", n: 2 })).toEqual([
      { session_id: "s", n: 2 },
    ]);
  });

  test.each([
    "DELETE FROM messages",
    "delete from messages returning id",
    "WITH doomed AS (SELECT 1) DELETE FROM messages",
    "DROP TABLE messages",
    "CREATE TEMP TABLE notes (a)",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version",
    "PRAGMA table_info(messages)",
    "/* SELECT */ DELETE FROM messages",
    "ATTACH '/tmp/other.db' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '/tmp/copy.db'",
    "SAVEPOINT a",
    "COMMIT",
    "BEGIN IMMEDIATE",
    "EXPLAIN DELETE FROM messages",
    "SELECT 1; DELETE FROM messages",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT nothing FROM nowhere",
    "SELECT abs(-9223372036854775808)",
    "",
    "-- nothing but this",
  ])("refuses %j and changes nothing", (query) => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append(user("hello"));
    const before = allRows(path);
    expect(() => store.query(query)).toThrow(expect.objectContaining({ code: "QUERY_REFUSED" }));
    expect(allRows(path)).toEqual(before);
    expect(store.verify().ok).toBe(true);
  });

  test.each([
    "SELECT 1 AS a",
    "  select 1 as a ;  ",
    "VALUES (1)",
    "-- why\n/* not * / here */ SELECT 1 AS a",
    "WITH one(a) AS (SELECT 1) SELECT a FROM one",
  ])("answers %j", (query) => {
    expect(
      storeOfOne()
        .query(query)
        .map((row) => Object.values(row)),
    ).toEqual([[1]]);
  });

  test("explains a query", () => {
    expect(storeOfOne().query("EXPLAIN QUERY PLAN SELECT * FROM messages")).not.toEqual([]);
  });

  test("gives values as they are: text, numbers, NULL, bytes, and integers past 2^53 exactly; and names all columns", () => {
    const [row] = storeOfOne().query(
      "SELECT 'a' AS a, 1.5 AS a, NULL AS c, x'00ff' AS d, 9007199254740993 AS e, -3 AS f",
    );
    expect(row).toEqual({ a: "a", "a:1": 1.5, c: null, d: Buffer.from([0, 255]), e: 9007199254740993n, f: -3 });
  });

  test("is refused in memory, where there is no second connection, and once the store is closed", () => {
    const store = openedStore(":memory:");
    expect(() => store.query("SELECT 1")).toThrow(expect.objectContaining({ code: "QUERY_REFUSED" }));
    store.close();
    expect(() => store.query("SELECT 1")).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
  });

  test("gives rows as they are found, also of a query without an end, and leaves the store free", () => {
    const store = storeOfOne();
    const rows = internalsOf(store).queryRows(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    );
    expect([rows.next().value, rows.next().value]).toEqual([{ i: 1 }, { i: 2 }]);
    store.session("s").append(user("again")); // another may write meanwhile
    rows.return(undefined);
    expect(rows.next()).toEqual({ done: true, value: undefined });
    expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 2 }]);
  });
});
