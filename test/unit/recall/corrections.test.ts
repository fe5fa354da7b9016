import { describe, expect, test } from "vitest";
import { editsBetween } from "../../../src/core/edits.ts";
import type { Store } from "../../../src/index.ts";
import { noteOnHits } from "../../../src/session/aids/recall-notes.ts";
import { indexAll } from "../../support/full-text.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

function licenses(isIndexed: boolean): Store {
  const store = temporaryStore();
  store
    .session("licenses")
    .append([
      user("Add a standard license, please."),
      assistant("The lightkeepers sign the tower."),
      user("What is in the liquid? A license."),
      user("Call fetchLicenseText2 again."),
    ]);
  if (isIndexed) indexAll(store);
  return store;
}

const idsFor = async (store: Store, query: string) =>
  (await store.recall(query, { neighbors: 0 })).map(({ messageId }) => messageId);
const noteFor = async (store: Store, query: string) => noteOnHits(await store.recall(query));

describe.each([
  ["the tail", false],
  ["the index", true],
])("with all messages in %s", (_where, isIndexed) => {
  test.each([
    ["a letter too few", "licnse", "license"],
    ["another letter", "licence", "license"],
    ["two letters swapped", "licesne", "license"],
    ["two wrong letters in a long word", "lihgtkeeprs", "lightkeepers"],
  ])("a word with %s is searched as the word that was meant", async (_, typed, meant) => {
    const store = licenses(isIndexed);
    expect(await idsFor(store, `our ${typed}`)).toEqual(await idsFor(store, `our ${meant}`));
    expect(await noteFor(store, typed)).toBe(`Did you mean ${meant}? No message has "${typed}".`);
  });

  test.each([["license"], ["licenses"], ['"licence" license'], ["lies"], ["licorice"], ["licence2"]])(
    "%s is meant as it is typed",
    async (query) => {
      const store = licenses(isIndexed);
      expect((await noteFor(store, query)) ?? "").not.toContain("Did you mean");
    },
  );

  test("a word of another session is not meant in a session that lacks it", async () => {
    const store = licenses(false);
    store.session("sea").append(user("The harbor has a lantern."));
    if (isIndexed) indexAll(store);
    const [hit] = await store.recall("license harbr", { sessionIds: ["licenses"], neighbors: 0 });
    expect(hit!.corrections).toBeUndefined();
    const [other] = await store.recall("lantern harbr", { sessionIds: ["sea"], neighbors: 0 });
    expect(other!.corrections).toHaveLength(1);
  });
});

test("no more than four words of a query are corrected", async () => {
  const store = temporaryStore();
  store.session("s").append(user("lighthouse keeper harbor anchor lantern compass"));
  const [hit] = await store.recall("lighthuose keepr harbr anchr lantrn compss");
  expect(hit!.corrections).toHaveLength(4);
});

test.each([
  ["lock", "lock", 0],
  ["lock", "lokc", 1],
  ["lock", "clock", 1],
  ["lock", "look", 1],
  ["lock", "tick", 2],
  ["lock", "harbor", 3],
  ["", "ab", 2],
])("from %j to %j it is %i edits", (left, right, edits) => {
  expect(editsBetween(left, right, 2)).toBe(edits);
  expect(editsBetween(right, left, 2)).toBe(edits);
});
