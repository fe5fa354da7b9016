import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
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
    "EXPLAIN PRAGMA query_only = OFF",
    "explain -- why\nquery/* */plan PRAGMA trusted_schema = ON",
    "EXPLAIN EXPLAIN SELECT 1",
    "EXPLAIN",
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

  test("a refused PRAGMA changes nothing for the queries after it, nor for the rest of the process", () => {
    const store = storeOfOne();
    const settings =
      "SELECT * FROM pragma_query_only, pragma_trusted_schema, pragma_cache_size, pragma_soft_heap_limit";
    const before = store.query(settings);
    expect(before).toMatchObject([{ query_only: 1, trusted_schema: 0 }]);
    const changes = ["query_only = OFF", "trusted_schema = ON", "cache_size = 7", "soft_heap_limit = 900000000"];
    for (const change of changes.flatMap((pragma) => [`PRAGMA ${pragma}`, `EXPLAIN PRAGMA ${pragma}`])) {
      expect(() => store.query(change)).toThrow(expect.objectContaining({ code: "QUERY_REFUSED" }));
    }
    expect(store.query(settings)).toEqual(before);
  });

  test("reads what was written since the last query, also while another query is read, and holds no log back", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const count = () => store.query("SELECT count(*) AS n FROM messages")[0]!.n;
    store.session("s").append(user("hello"));
    expect(count()).toBe(1);
    const rows = internalsOf(store).queryRows("SELECT seq FROM messages, (VALUES (1), (2))");
    rows.next();
    store.session("s").append(user("again"));
    expect([count(), count()]).toEqual([2, 2]);
    expect([...rows]).toHaveLength(1);
    store.session("secret").append(user("the forgotten words"));
    expect(count()).toBe(3);
    expect(store.forget("secret")).toMatchObject({ erased: true });
    expect(count()).toBe(2);
    store.verify({ rebuild: true });
    expect(store.query("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'hello'")).toEqual([{ rowid: 1 }]);
  });

  test("leaves no log when the store is closed, and no connection that keeps one", () => {
    const path = temporaryPath();
    const files = () => readdirSync(dirname(path));
    const store = openedStore(path);
    store.session("s").append(user("hello"));
    const both = internalsOf(store).queryRows("VALUES (1), (2)");
    both.next();
    store.query("SELECT 1");
    expect([...both]).toHaveLength(1);
    store.close();
    expect(files()).toEqual([basename(path)]);
    const again = openedStore(path);
    const rows = internalsOf(again).queryRows("VALUES (1), (2)");
    rows.next();
    again.close();
    expect([...rows]).toHaveLength(1); // ends after its store
    openedStore(path).close();
    expect(files()).toEqual([basename(path)]);
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
