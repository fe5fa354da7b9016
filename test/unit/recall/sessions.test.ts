import { beforeEach, expect, test } from "vitest";
import type { Embedder, RecallHit, Store } from "../../../src/index.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 4, 20, 12);

let store: Store;

beforeEach(() => {
  store = temporaryStore({ clock: () => NOW });
});

function say(sessionId: string, createdAt: number, ...texts: string[]): void {
  store
    .session(sessionId)
    .append(texts.map((content, index) => ({ role: "user", content, createdAt: createdAt + index })));
}

const sessionsOf = (hits: readonly RecallHit[]): string[] => hits.map(({ sessionId }) => sessionId);

test("by session, each session is found once, by its best message", async () => {
  say("flaky", NOW, "The lock test is flaky again.", "A flaky lock test needs a longer lock timeout.", "Flaky lock!");
  say("other", NOW, "The lock of the harbor is closed.");
  const hits = await store.recall("the flaky lock test", { by: "session" });
  expect(sessionsOf(hits)).toEqual(["flaky", "other"]);
  expect(hits[0]!.text).toMatch(/lock test/);
  expect(hits[0]!.score).toBeGreaterThan(hits[1]!.score);
  expect(await store.recall("the flaky lock test", { by: "session", limit: 1 })).toHaveLength(1);
});

test("by session, a copy of a session is another session", async () => {
  const text = "The lock test is flaky again on every second run of the build.";
  say("a", NOW, text);
  say("b", NOW, text);
  expect(sessionsOf(await store.recall("flaky lock test", { by: "session" })).sort()).toEqual(["a", "b"]);
});

test.each(["message", "session"] as const)("near a time, by %s, what was said then counts more", async (by) => {
  for (const days of [30, 20, 10]) say(`days-${days}`, NOW - days * DAY, "I cleaned up the helpers.");
  const near = (days: number) => ({ fromMs: NOW - days * DAY, toMs: NOW - days * DAY });
  for (const days of [30, 20, 10]) {
    const [hit] = await store.recall("cleaned up helpers", { by, near: near(days) });
    expect(hit!.sessionId).toBe(`days-${days}`);
  }
  // What begins later is farther away than what was before.
  const [hit] = await store.recall("cleaned up helpers", { by, near: near(14) });
  expect(hit!.sessionId).toBe("days-20");
});

test.each([
  ["yesterday", 1],
  ["last week", 8],
  ["two months ago", 60],
  ["in March", 60],
])("a question about %s prefers what was said then", async (when, days) => {
  for (const ago of [1, 8, 60, 200]) say(`days-${ago}`, NOW - ago * DAY, "We deployed the harbor page.");
  const [hit] = await store.recall(`What did we deploy ${when}?`);
  expect(hit!.sessionId).toBe(`days-${days}`);
});

test("near must be a range of times", async () => {
  await expect(store.recall("lock", { near: { fromMs: 1 } as never })).rejects.toMatchObject({
    code: "OPTION_INVALID",
  });
  await expect(store.recall("lock", { by: "cluster" as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
});

test("in a question, the words of a quoted title are searched, not the quote", async () => {
  say("books", NOW, 'I read "Becoming Nicole".', "What did you take away?", "To be yourself, the Nicole book says.");
  const found = await store.recall('What did you take away from "Becoming Nicole"?');
  expect(found.length).toBe(3);
  expect(await store.recall('take away "Becoming Nicole"')).toHaveLength(1);
});

/** It knows that a car is an automobile, and nothing else. */
const carEmbedder: Embedder = {
  id: "cars-2",
  dimension: 2,
  similarityMin: 0.5,
  embed: (text) => (/\bcar\b|automobile/.test(text) ? Float32Array.of(1, 0.1) : Float32Array.of(0.1, 1)),
};

test.each([
  ["a", "b"],
  ["b", "a"],
])("by session, the meaning of messages counts: %s before %s", async (right, wrong) => {
  store = temporaryStore({ embedder: carEmbedder, clock: () => NOW });
  say(right, NOW, "My automobile broke down.");
  say(wrong, NOW, "The soup was too hot.");
  expect(sessionsOf(await store.recall("car trouble", { by: "session" }))[0]).toBe(right);
});

test("by session, a reranker orders the sessions", async () => {
  say("long", NOW, "The flaky lock test, and the flaky lock of the test.");
  say("short", NOW - DAY, "A flaky test.");
  const rerank = async (_: string, texts: readonly string[]) => texts.map((text) => -text.length);
  expect(sessionsOf(await store.recall("flaky lock test", { by: "session" }))).toEqual(["long", "short"]);
  expect(sessionsOf(await store.recall("flaky lock test", { by: "session", rerank }))).toEqual(["short", "long"]);
});

test("by session, of two that say the same the later one comes first", async () => {
  for (const [id, time] of [
    ["a", NOW],
    ["b", NOW - DAY],
    ["c", NOW - 2 * DAY],
  ] as const)
    say(id, time, "The lock is flaky.");
  expect(sessionsOf(await store.recall("flaky lock", { by: "session" }))).toEqual(["a", "b", "c"]);
});
