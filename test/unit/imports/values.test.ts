import { join } from "node:path";
import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { SECRETS } from "../../support/secrets.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { bring, jsonLines, put } from "../importers/read.ts";

const KEY = SECRETS["aws-access-key"];

function fileOf(lines: Iterable<unknown>): string {
  return put(join(temporaryFolder(), "export.jsonl"), jsonLines([...lines] as object[]));
}

const entriesOf = (store: Store, id: string) => {
  const entries = store.resume(id).entries.list();
  return entries.map(({ position: _, ...entry }) => entry);
};

const itemsOf = (store: Store) => store.items.list([]);

/** A store in which something of each kind stands beside messages. */
function filled(): Store {
  const store = temporaryStore();
  const session = store.session("s");
  session.entries.append([{ value: { type: "first" } }, { value: null, id: "named" }]);
  session.append([user("one"), user("two")]);
  session.entries.append([{ value: ["second", "x".repeat(10_000)] }, { value: JSON.parse('{"__proto__":{"a":1}}') }]);
  session.append(user("three"));
  session.entries.append([{ value: "gone", id: "left" }, { value: "gone" }]);
  session.rewind({ toSeq: 1 });
  session.append(user("four"));
  session.entries.append([{ value: "last" }]);
  for (let index = 0; index < 60; index++) store.session("t").append(user(`word ${index}`, { id: `t${index}` }));
  for (let index = 0; index < 120; index++) store.resume("t").entries.append([{ value: index }]);
  store.session("silent").entries.append([{ value: "alone" }]);
  store.items.put([], "", "without names");
  store.items.put(["users", "ada"], "preferences", { theme: "dark" }, { session: "s" });
  store.items.put(["blobs"], "one", new Uint8Array([0, 255, 10]));
  return store;
}

test("entries and items come back as they were, each entry in its place, and once", async () => {
  const home = filled();
  const path = fileOf(home.export());
  const away = temporaryStore();
  expect(await bring(away, path)).toMatchObject({ newCount: 63, valueCount: 129, warningCount: 0 });
  for (const id of ["s", "t", "silent"]) expect(entriesOf(away, id)).toEqual(entriesOf(home, id));
  expect(itemsOf(away)).toEqual(itemsOf(home));
  expect(away.verify()).toMatchObject({ ok: true, problems: [] });

  for (const store of [away, home]) {
    const before = [entriesOf(store, "s"), entriesOf(store, "t"), itemsOf(store)];
    expect(await bring(store, path)).toMatchObject({ newCount: 0, valueCount: 0, warningCount: 0 });
    expect([entriesOf(store, "s"), entriesOf(store, "t"), itemsOf(store)]).toEqual(before);
  }
  // What was superseded here since does not come back either.
  away.resume("s").rewind({ toSeq: -1 });
  expect(await bring(away, path)).toMatchObject({ valueCount: 0 });
});

test("an entry stays after the message before it, although messages were forgotten", async () => {
  const home = temporaryStore();
  const session = home.session("s");
  const said = session.append(["a", "b", "c", "d"].map((text) => user(text)));
  session.entries.append([{ value: "after d" }]);
  session.append(user("e"));
  home.forget("s", { messageIds: said.slice(1, 3).map(({ messageId }) => messageId) });
  const path = fileOf(home.export());
  const away = temporaryStore();
  await bring(away, path);
  expect(away.resume("s").messages()).toMatchObject([{ text: "a" }, { text: "d" }, { text: "e" }]);
  expect(entriesOf(away, "s")).toMatchObject([{ value: "after d", beforeSeq: 2 }]);
  expect(await bring(home, path)).toMatchObject({ newCount: 0, valueCount: 0 });
});

test("an export of one session has its own entries and items", () => {
  const store = filled();
  const lines = [...store.export({ sessions: ["silent"] })];
  expect(lines).toMatchObject([{ session: "silent" }, { session: "silent", entry: "alone" }]);
  expect([...store.export({ sessions: ["s"] })].at(-1)).toMatchObject({ session: "s", key: "preferences" });
});

test("secrets in values are replaced, and another value that is here stays", async () => {
  const home = temporaryStore();
  home.session("s").entries.append([{ value: { key: `It is ${KEY}.` } }]);
  home.items.put(["a"], "key", KEY);
  home.items.put(["a"], "mode", "theirs");
  const path = fileOf(home.export());
  const away = temporaryStore();
  away.items.put(["a"], "mode", "ours");
  const { replaced, files, valueCount } = await bring(away, path);
  expect([replaced, valueCount]).toEqual([{ "aws-access-key": 2 }, 2]);
  expect(files[0]!.warnings).toMatchObject([{ line: 4, reason: expect.stringContaining("which stays") }]);
  expect(away.items.get(["a"], "mode")?.value).toBe("ours");
  expect(away.items.get(["a"], "key")?.value).toBe("[secret: aws-access-key]");
  expect(entriesOf(away, "s")).toMatchObject([{ value: { key: "It is [secret: aws-access-key]." } }]);
});

test("what belongs to a forgotten or excluded session is left out", async () => {
  const home = filled();
  const path = fileOf(home.export());
  const away = temporaryStore();
  await bring(away, path);
  away.forget("s");
  away.forget("silent");
  expect(await bring(away, path)).toMatchObject({ newCount: 0, valueCount: 0, warningCount: 0 });
  expect(itemsOf(away).map(({ key }) => key)).toEqual(["one", ""]);
});

test("lines that are no entry and no item are warned of", async () => {
  const time = { createdAt: 1, updatedAt: 1 };
  const lines = [
    { session: "s", role: "user", content: "hello" },
    { session: "s", entry: 1 },
    { session: "s", entry: 1, createdAt: 1, id: "" },
    { session: "s", entry: "fine", createdAt: 1 },
    { namespace: ["a"], key: "k", ...time },
    { namespace: ["a"], key: "k", value: 1, bytes: "AA==", ...time },
    { namespace: ["a"], key: "k", value: 1, createdAt: 1 },
    { namespace: ["a"], key: "k", value: 1, session: 5, ...time },
    { namespace: ["a"], key: "k", value: 1, session: "other", ...time },
    { namespace: ["a"], key: "\ud800", value: 1, ...time },
    { namespace: ["a"], key: "good", bytes: "AA==", session: "s", ...time },
  ];
  const store = temporaryStore();
  const { files, valueCount } = await bring(store, fileOf(lines));
  expect(files[0]!.warnings.map(({ line }) => line)).toEqual([2, 3, 5, 6, 7, 8, 9, 10]);
  expect(valueCount).toBe(2);
  expect(itemsOf(store)).toMatchObject([{ key: "good", value: new Uint8Array([0]), session: store.sessions()[0]!.id }]);
});
