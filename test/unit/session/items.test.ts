import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KEY_CHARS_MAX, NAMESPACE_ELEMENTS_MAX } from "../../../src/core/limits.ts";
import type { ItemFilter } from "../../../src/index.ts";
import { runs } from "../../support/effort.ts";
import { nastyJson, nastyText } from "../../support/message-arbitraries.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const element = nastyText.filter((text) => text.isWellFormed() && text.length <= KEY_CHARS_MAX);

describe("a value", () => {
  test("comes back as it was written, under any namespace and key", () => {
    fc.assert(
      fc.property(fc.array(element, { maxLength: 4 }), element, nastyJson, (namespace, key, value) => {
        const path = temporaryPath();
        openedStore(path).items.put(namespace, key, value);
        const { items } = openedStore(path);
        expect(items.get(namespace, key)).toMatchObject({ namespace, key });
        expect(items.get(namespace, key)?.value).toEqual(value);
        expect(items.list([]).map((item) => item.key)).toEqual([key]);
        expect(items.get([...namespace, "x"], key)).toBeUndefined();
        expect(items.delete(namespace, key)).toBe(true);
        expect(items.delete(namespace, key)).toBe(false);
      }),
      { numRuns: runs(8) },
    );
  });

  test("may be bytes, which are copied, and of many megabytes", () => {
    const { items } = temporaryStore();
    const short = new Uint8Array([0, 255, 1]);
    const long = Buffer.alloc(20_000_000, "checkpoint ");
    items.put(["bytes"], "short", short);
    items.put(["bytes"], "long", long);
    items.put(["bytes"], "part", new Uint8Array(long.buffer, long.byteOffset + 3, 8));
    short[0] = 9;
    expect(items.get(["bytes"], "short")?.value).toEqual(new Uint8Array([0, 255, 1]));
    expect(Buffer.compare(items.get(["bytes"], "long")!.value as Uint8Array, long)).toBe(0);
    expect(Buffer.from(items.get(["bytes"], "part")!.value as Uint8Array).toString()).toBe("ckpoint ");
    const value = items.get(["bytes"], "short")!.value as Uint8Array;
    value[1] = 0; // it is the caller's own
    expect(items.get(["bytes"], "short")?.value).toEqual(new Uint8Array([0, 255, 1]));
  });

  test("replaces the one before it; the time of creation stays", () => {
    const { items } = temporaryStore();
    items.put(["a"], "k", 1);
    const first = items.get(["a"], "k")!;
    items.put(["a"], "k", { n: 2 });
    expect(items.get(["a"], "k")).toMatchObject({ value: { n: 2 }, createdAtMs: first.createdAtMs });
    expect(items.get(["a"], "k")!.updatedAtMs).toBeGreaterThan(first.updatedAtMs);
    expect(items.list([])).toHaveLength(1);
  });
});

describe("a namespace", () => {
  test("is found by its first elements, never by a part of one", () => {
    const { items } = temporaryStore();
    const namespaces = [
      [],
      [""],
      ["a"],
      ["a", "b"],
      ["a", ""],
      ["ab"],
      ["a,b"],
      ['a"'],
      ["a\\"],
      ['a","b'],
      ["A"],
      ["*"],
    ];
    for (const namespace of namespaces) items.put(namespace, "k", 1);
    for (const prefix of namespaces) {
      const expected = namespaces.filter((namespace) => prefix.every((part, index) => namespace[index] === part));
      const sorted = (list: readonly (readonly string[])[]) => list.map((names) => JSON.stringify(names)).sort();
      expect(sorted(items.list(prefix).map(({ namespace }) => namespace))).toEqual(sorted(expected));
    }
    expect(items.deleteAll(["a"])).toBe(3);
    expect(items.list([])).toHaveLength(namespaces.length - 3);
  });

  test("any two texts that differ are two namespaces and two keys", () => {
    fc.assert(
      fc.property(fc.uniqueArray(element, { minLength: 2, maxLength: 5 }), (texts) => {
        const { items } = openedStore(":memory:");
        for (const text of texts) {
          items.put([text], "k", text);
          items.put([], text, text);
        }
        for (const text of texts) {
          expect(items.list([text]).map(({ value }) => value)).toEqual([text]);
          expect(items.get([], text)?.value).toBe(text);
        }
      }),
      { numRuns: runs(10) },
    );
  });

  test("is listed by prefix, suffix and depth, each once", () => {
    const { items } = temporaryStore();
    for (const namespace of [["u", "1", "notes"], ["u", "1", "todo"], ["u", "2", "notes"], ["app"]]) {
      items.put(namespace, "k", 1);
      items.put(namespace, "l", 1);
    }
    expect(items.namespaces()).toEqual([["app"], ["u", "1", "notes"], ["u", "1", "todo"], ["u", "2", "notes"]]);
    expect(items.namespaces({ suffix: ["notes"] })).toEqual([
      ["u", "1", "notes"],
      ["u", "2", "notes"],
    ]);
    expect(items.namespaces({ prefix: ["u"], maxDepth: 2 })).toEqual([
      ["u", "1"],
      ["u", "2"],
    ]);
    expect(items.namespaces({ prefix: ["u"], maxDepth: 2, limit: 1, offset: 1 })).toEqual([["u", "2"]]);
  });
});

describe("a list", () => {
  test("is in order of namespace and key by code points, and pages follow one another", () => {
    const { items } = temporaryStore();
    const keys = ["10", "2", "a", "Z", "é", "\uffff", "🎉"];
    for (const key of keys) items.put(["n"], key, key);
    const byCodePoint = ["10", "2", "Z", "a", "é", "\uffff", "🎉"];
    expect(items.list(["n"]).map(({ key }) => key)).toEqual(byCodePoint);
    expect(items.list(["n"], { descending: true, limit: 2 }).map(({ key }) => key)).toEqual(["🎉", "\uffff"]);
    const pages = [0, 3, 6].flatMap((offset) => items.list(["n"], { limit: 3, offset }));
    expect(pages.map(({ key }) => key)).toEqual(byCodePoint);
    expect(items.list(["n"], { limit: 0 })).toEqual([]);
  });

  const values: Record<string, unknown> = {
    one: { status: "open", score: 1, tags: ["x"] },
    two: { status: "open", score: 2, tags: ["x", "y"] },
    text: { status: "done", score: "2" },
    none: { status: null },
    list: ["open"],
    plain: "open",
  };
  test.each<[ItemFilter, string[]]>([
    [{ status: "open" }, ["one", "two"]],
    [{ status: { $eq: "open" }, score: { $gt: 1 } }, ["two"]],
    [{ score: { $gte: 1, $lt: 2 } }, ["one"]],
    [{ score: { $lte: "2" } }, ["text"]],
    [{ score: { $ne: 1 } }, ["none", "text", "two"]],
    [{ status: null }, ["none"]],
    [{ tags: ["x"] }, ["one"]],
    [{ score: { $eq: undefined } }, ["none"]],
    [{ toString: { $ne: 1 } }, ["none", "one", "text", "two"]],
    [{ __proto__: null, hasOwnProperty: "x" } as never, []],
    [{}, ["none", "one", "text", "two"]],
  ])("filtered by %j has %j", (filter, keys) => {
    const { items } = temporaryStore();
    for (const [key, value] of Object.entries(values)) items.put(["n"], key, value);
    items.put(["n"], "bytes", new Uint8Array(3));
    expect(items.list(["n"], { filter }).map(({ key }) => key)).toEqual(keys);
    expect(items.list(["n"], { filter, limit: 1, offset: 1 }).map(({ key }) => key)).toEqual(keys.slice(1, 2));
  });
});

test("an item goes with the session that it names", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("s");
  store.items.put(["n"], "owned", 1, { session: "s" });
  store.items.put(["n"], "free", 1);
  store.items.put(["n"], "released", 1, { session: "s" });
  store.items.put(["n"], "released", 2);
  expect(store.items.get(["n"], "owned")).toMatchObject({ session: "s" });
  expect(() => store.items.put(["n"], "k", 1, { session: "nobody" })).toThrow(
    expect.objectContaining({ code: "SESSION_NOT_FOUND" }),
  );
  store.forget("s");
  expect(store.items.list([]).map(({ key }) => key)).toEqual(["free", "released"]);
});

test("what cannot be stored is refused, and nothing changes", () => {
  const { items } = temporaryStore();
  items.put(["n"], "k", "before");
  const wrong: [unknown, unknown, unknown, string][] = [
    [["n"], "k", new Date(), "VALUE_INVALID"],
    [["n"], "k", undefined, "VALUE_INVALID"],
    [["n"], "k", { deep: [Number.POSITIVE_INFINITY] }, "VALUE_INVALID"],
    [["n"], "\ud800", 1, "OPTION_INVALID"],
    [["\udc00"], "k", 1, "OPTION_INVALID"],
    [["n"], "x".repeat(KEY_CHARS_MAX + 1), 1, "OPTION_INVALID"],
    [Array(NAMESPACE_ELEMENTS_MAX + 1).fill("n"), "k", 1, "OPTION_INVALID"],
    ["n", "k", 1, "OPTION_INVALID"],
    [["n"], 7, 1, "OPTION_INVALID"],
  ];
  for (const [namespace, key, value, code] of wrong) {
    expect(() => items.put(namespace as string[], key as string, value)).toThrow(expect.objectContaining({ code }));
  }
  expect(() => items.list([], { filter: { a: { $regex: "x" } } })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
  expect(items.list([]).map(({ value }) => value)).toEqual(["before"]);
});

test("verify counts items, and names a damaged one, which is refused when it is read", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  store.items.put(["n"], "k", "sound");
  store.items.put(["n"], "long", "long ".repeat(5_000));
  expect(store.verify()).toMatchObject({ ok: true, itemCount: 2 });
  inSealed(path, (database) => database.exec("UPDATE items SET value = x'00', checksum = -1 WHERE key = 'long'"));
  expect(() => store.items.get(["n"], "long")).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  inDatabase(path, (database) => database.exec("UPDATE items SET key = 'other' WHERE key = 'k'"));
  expect(() => store.items.get(["n"], "other")).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  expect(store.verify()).toMatchObject({ ok: false });
});
