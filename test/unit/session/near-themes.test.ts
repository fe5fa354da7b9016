import { beforeEach, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { assertAllMessages, themesAbout, themesNear } from "../../../src/session/aids/near-themes.ts";
import { remoteLetters } from "../../support/other-embedders.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const DAY_MS = 86_400_000;
const LOCK = "the stale session lock blocks the writer until the lock file is removed";
const COLOR = "purple buttons look better beside yellow headings";
const OVEN = "the oven bakes sourdough bread with rye flour";

let store: Store;
let path: string;

/** "first" of the project web is about the lock and colors, "second" about the lock, "third" of another project about bread. */
beforeEach(async () => {
  let now = Date.UTC(2026, 0, 1);
  path = temporaryPath();
  store = openedStore(path, { clock: () => now });
  store.session("first", { project: "web", title: "Locks" }).append([user(LOCK), assistant(LOCK), user(COLOR)]);
  store.session("first").append([assistant(COLOR), user("Thanks!")]);
  now += DAY_MS;
  store.session("second", { project: "web" }).append([user(LOCK), assistant(LOCK), user("Bye.")]);
  store.session("third", { project: "kitchen" }).append([user(OVEN), assistant(OVEN), user("Done.")]);
  now += 40 * DAY_MS;
  await store.upkeep();
});

test("a question for themes is answered with those of all sessions, best first, each once", async () => {
  const found = await themesAbout(store, "who removes the lock of the writer?");
  expect(
    found
      .slice(0, 2)
      .map(({ sessionId }) => sessionId)
      .toSorted(),
  ).toEqual(["first", "second"]);
  expect(new Set(found.map(({ theme }) => theme)).size).toBe(found.length);
  for (const { theme, messageCount, sessionId } of found) {
    const { members, memberCount } = store.expand(theme);
    expect([memberCount, members[0]!.sessionId]).toEqual([messageCount, sessionId]);
  }
  expect((await themesAbout(store, "sourdough bread", { limit: 1 }))[0]).toMatchObject({
    sessionId: "third",
    project: "kitchen",
    seq: 0,
    atMs: Date.UTC(2026, 0, 2),
  });
});

test("no other project is told of, and a query without words finds nothing", async () => {
  const found = await themesAbout(store, "sourdough bread of the lock", { project: "web" });
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(found.map(({ project }) => project))).toEqual(new Set(["web"]));
  expect(await themesAbout(store, "…")).toEqual([]);
});

test("a theme leads to those of other sessions about the same, and never to its own session", () => {
  const [lock] = store.session("first").messages();
  const [near, ...others] = themesNear(store, lock!.id);
  expect(near).toMatchObject({ sessionId: "second", messageCount: 2 });
  expect(near!.similarity).toBeGreaterThan(0.9);
  for (const { sessionId, similarity } of others) {
    expect(sessionId).not.toBe("first");
    expect(similarity).toBeLessThan(near!.similarity!);
  }
  expect(themesNear(store, lock!.id, { limit: 1 })).toHaveLength(1);
});

test("a message that is in no theme yet is near nothing", () => {
  const newest = store.session("first").messages().at(-1)!;
  expect(themesNear(temporaryStoreWith("hello"), 1)).toEqual([]);
  expect(themesNear(store, newest.id)).toEqual([]);
});

test("with an embedder that is not asked, the messages that answer lead to their themes", async () => {
  store.close();
  const other = openedStore(path, { embedder: remoteLetters(), readonly: true });
  const found = await themesAbout(other, "sourdough bread", { vectorMsMax: 0, limit: 1 });
  expect(found.map(({ sessionId }) => sessionId)).toEqual(["third"]);
});

test("what narrows a search to some messages is refused with what to do", () => {
  assertAllMessages([]);
  expect(() => assertAllMessages(["roles", "since"])).toThrow(/message or session .* got "theme with roles, since"/);
});

function temporaryStoreWith(text: string): Store {
  const small = temporaryStore();
  small.session("s").append(user(text));
  return small;
}
