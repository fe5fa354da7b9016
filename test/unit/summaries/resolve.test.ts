import { describe, expect, test } from "vitest";
import { type Session, type Store, StoreError, type SummaryText, type ThemeInfo } from "../../../src/index.ts";
import { claimFaults } from "../../support/claims.ts";
import { inDatabaseAsync } from "../../support/rows.ts";
import { assistant, talk, user } from "../../support/said.ts";
import { scriptedEmbedder } from "../../support/scripted-embedder.ts";
import { type Behavior, type ScriptedSummarizer, scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 3, resolveTokensMin: 50, summaryTokensMax: 60 };

interface Setting {
  path: string;
  store: Store;
  session: Session;
  summarizer: ScriptedSummarizer;
}

/** A session whose three clusters are all due, and a summarizer that does what it is told. */
function dirtySession(script: Behavior[], count = 28, settings: object = {}, perSubject = 6): Setting {
  const path = temporaryPath();
  const summarizer = scriptedSummarizer(...script);
  const store = openedStore(path, { summarizer });
  const session = store.session("s", { ...SETTINGS, ...settings });
  session.append(talk(count, perSubject));
  session.compact();
  return { path, store, session, summarizer };
}

const textsOf = (store: Store): unknown[] =>
  store.query("SELECT status, error, attempts FROM summaries ORDER BY id").map((row) => Object.values(row));

/** A budget in tokens that has no room for all messages, so that summaries stand for some. */
const SMALLER = 2_000;

describe("resolveDirty", () => {
  test("gives every due cluster a summary, and then has nothing to do", async () => {
    const { session, store, summarizer } = dirtySession(["good"]);
    expect(await session.resolveDirty()).toEqual({ resolved: 3, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(summarizer.requests).toHaveLength(3);
    expect(session.roots().map(({ summaries, uncoveredCount }) => [summaries.length, uncoveredCount])).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    expect(store.query("SELECT count(*) AS n FROM uncovered")).toEqual([{ n: 0 }]);
  });

  test("leaves clusters alone that have too little to say", async () => {
    const { session, summarizer } = dirtySession(["good"], 28, { resolveTokensMin: 100_000 });
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(summarizer.requests).toEqual([]);
  });

  test("hands over the sources in order and as text, and on the next version only what is new", async () => {
    const { session, summarizer } = dirtySession(["good"], 40, {}, 100);
    await session.resolveDirty();
    const [first] = summarizer.requests;
    expect(first).toMatchObject({ previous: [], tokensMax: 60 });
    const graduated = first!.sources.length;
    expect(first!.sources.map(({ seq }) => seq)).toEqual(Array.from({ length: graduated }, (_, seq) => seq));
    expect(first!.sources[0]).toEqual({
      seq: 0,
      role: "user",
      text: session.messages()[0]!.text,
      createdAtMs: expect.any(Number),
    });
    session.append(talk(12, 100));
    await session.resolveDirty();
    const second = summarizer.requests.at(-1)!;
    expect(second.previous).toEqual([]);
    expect(second.sources[0]!.seq).toBe(graduated);
    session.compact();
    const [{ summaries, uncoveredCount, messageCount }] = session.roots() as [ThemeInfo];
    expect(summaries.map(({ messageCount: read }) => read)).toEqual([graduated, second.sources.length]);
    expect(uncoveredCount).toBe(messageCount - graduated - second.sources.length);
  });

  test.each<[Behavior, string]>([
    ["fail", "quota exceeded"],
    ["empty", "the summarizer answered with an empty text"],
    ["long", "each statement of the summarizer's 61 tokens has more than the 60 that were allowed"],
    ["nonsense", "the summarizer answered with a title that is not a text of at most 200 characters"],
  ])("counts a summarizer that does `%s` as failed, says why, and tries again", async (behavior, error) => {
    const { session, store } = dirtySession([behavior, behavior, "good"], 40, {}, 100);
    const failed = { resolved: 0, failed: 1, stale: 0, parked: 0, deferred: 0, lastError: { message: error } };
    expect(await session.resolveDirty()).toEqual(failed);
    expect(await session.resolveDirty()).toEqual(failed);
    expect(textsOf(store)).toEqual([
      ["failed", error, 1],
      ["failed", error, 2],
    ]);
    expect(await session.resolveDirty()).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(textsOf(store)).toEqual([["done", null, 3]]);
    session.compact();
    const [memory] = session.render({ tokensMax: SMALLER }).messages;
    expect(memory!.parts[0]).toMatchObject({ text: expect.stringContaining("What was said") });
  });

  test("promise 3: does not let one theme's failure keep the others from theirs", async () => {
    const { session } = dirtySession(["good", "fail", "good"]);
    expect(await session.resolveDirty()).toMatchObject({ resolved: 2, failed: 1, stale: 0, parked: 0, deferred: 0 });
  });

  test("keeps the statements that fit of an answer that is too long, and asks no second time", async () => {
    const statements = ["Decided: the queue stays.", "word ".repeat(200).trim(), "Open: who moves the host?", ""];
    const path = temporaryPath();
    const answer = { title: "Queue", text: statements.join("\n") };
    const store = openedStore(path, { summarizer: { id: "long", promptVersion: 1, summarize: async () => answer } });
    const session = store.session("s", SETTINGS);
    session.append(talk(40, 100));
    session.compact();
    expect(await session.resolveDirty()).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(store.query("SELECT status, text FROM summaries")).toEqual([
      { status: "done", text: "Decided: the queue stays.\nOpen: who moves the host?" },
    ]);
  });

  test("returns the code of the last error", async () => {
    const reason = new StoreError("MODEL_UNAVAILABLE", { model: "m", reason: "it is overloaded" });
    const store = openedStore(temporaryPath(), {
      summarizer: { id: "m", promptVersion: 1, summarize: () => Promise.reject(reason) },
    });
    const session = store.session("s", SETTINGS);
    session.append(talk(40, 100));
    session.compact();
    expect((await session.resolveDirty()).lastError).toEqual({ message: reason.message, code: "MODEL_UNAVAILABLE" });
  });

  test("parks what cannot be made shorter, until it grows", async () => {
    const { session, store, summarizer } = dirtySession(["inflate", "good"], 0, { hotSize: 1, resolveTokensMin: 1 });
    session.append([user("Thumbnails?"), user("Queue?")]);
    session.compact();
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 1, deferred: 0 });
    expect(textsOf(store)).toEqual([["parked", expect.stringMatching(/^inflated: \d+ tokens for sources of \d+$/), 1]]);
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 1, deferred: 0 });
    expect(summarizer.requests).toHaveLength(1);
    session.append(talk(12, 100));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 2, parked: 1 });
  });

  test("keeps a summary whose cluster grew meanwhile: it is true of what it covers", async () => {
    const { session, store, summarizer } = dirtySession(["slow", "good"], 40, {}, 100);
    const resolving = session.resolveDirty();
    await summarizer.waiting();
    const before = session.roots({ level: "cluster" })[0]!;
    session.append(talk(12, 100));
    summarizer.release();
    expect(await resolving).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
    const [root] = session.roots();
    expect(root!.summaries[0]!.root).toBe(before.root);
    expect(store.expand(root!.summaries[0]!.root).memberCount).toBe(before.messageCount);
    expect(root!.uncoveredCount).toBe(root!.messageCount - before.messageCount);
    expect(await session.resolveDirty()).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
  });

  test("works on several themes at once, as many as it may", async () => {
    const { session, summarizer } = dirtySession(["slow"]);
    const resolving = session.resolveDirty({ concurrency: 2 });
    await summarizer.waiting();
    await new Promise((resolve) => setImmediate(resolve));
    expect(summarizer.requests).toHaveLength(2);
    summarizer.release();
    await new Promise((resolve) => setImmediate(resolve));
    while (summarizer.requests.length < 3) await new Promise((resolve) => setImmediate(resolve));
    summarizer.release();
    expect((await resolving).resolved).toBe(3);
  });

  test("writes nothing in a store that was opened for reading", async () => {
    const { path } = dirtySession(["good"]);
    const reader = openedStore(path, { readonly: true }).resume("s");
    await expect(reader.resolveDirty()).rejects.toMatchObject({ code: "STORE_READONLY" });
  });
});

describe("what a summarizer answers", () => {
  const answering = (answer: unknown): Session => {
    const summarizer = { id: "any", promptVersion: 1, summarize: () => answer as Promise<SummaryText> };
    const session = openedStore(temporaryPath(), { summarizer }).session("s", SETTINGS);
    session.append(talk(28));
    session.compact();
    return session;
  };

  test.each([
    undefined,
    null,
    [],
    { title: [], text: "It went well." },
    { title: { length: 3 }, text: "It went well." },
    { title: "Fine", text: ["It went well."] },
  ])("is a failure where it is no summary, and never an error of the caller's: %#", async (answer) => {
    expect(await answering(answer).resolveDirty()).toMatchObject({ failed: 3, resolved: 0 });
  });

  test("is kept without line breaks in its title", async () => {
    const session = answering(Promise.resolve({ title: " Two\n\u001b[1mlines ", text: "It went well." }));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 3 });
    expect(session.roots()[0]!.summaries[0]).toMatchObject({ title: "Two lines", text: "It went well." });
  });
});

describe("resolveDirty, stopped", () => {
  test("rejects with the signal's reason, and calls nobody, when it is aborted before", async () => {
    const { session, summarizer } = dirtySession(["good"]);
    const reason = new Error("the user left");
    await expect(session.resolveDirty({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(summarizer.requests).toEqual([]);
  });

  test.each<Behavior>(["hang", "deaf"])(
    "rejects with the signal's reason when the summarizer does `%s`, and keeps what was done",
    async (behavior) => {
      const { session, store, summarizer } = dirtySession(["good", behavior]);
      const controller = new AbortController();
      const resolving = session.resolveDirty({ signal: controller.signal, concurrency: 1 });
      await summarizer.waiting();
      const reason = new Error("the user left");
      controller.abort(reason);
      await expect(resolving).rejects.toBe(reason);
      expect(textsOf(store)).toEqual([["done", null, 1]]);
      expect(store.verify().ok).toBe(true);
    },
  );

  test.each<Behavior>(["slow", "hang", "deaf"])(
    "rejects with STORE_CLOSED when the store closes while the summarizer does `%s`",
    async (behavior) => {
      const { path, session, store, summarizer } = dirtySession(["good", behavior]);
      const resolving = session.resolveDirty({ concurrency: 1 });
      await summarizer.waiting();
      store.close();
      summarizer.release();
      await expect(resolving).rejects.toMatchObject({ code: "STORE_CLOSED" });
      const again = openedStore(path, { summarizer: scriptedSummarizer("good") });
      expect(again.verify()).toMatchObject({ ok: true, problems: [] });
      expect(textsOf(again)).toEqual([["done", null, 1]]);
      expect(await again.resume("s").resolveDirty()).toMatchObject({ resolved: 2 });
    },
  );

  test("keeps the summaries that are under way when something else breaks, and rejects with that afterwards", async () => {
    const path = temporaryPath();
    const embedder = scriptedEmbedder();
    const summarizer = scriptedSummarizer("slow");
    const store = openedStore(path, { embedder, summarizer });
    const session = store.session("s", SETTINGS);
    session.append(talk(28));
    await store.upkeep({ only: "vectors" });
    session.compact();
    session.append({ role: "user", content: "One whose vector is due." });
    await inDatabaseAsync(path, async (database) => {
      embedder.before = () => void database.exec("ALTER TABLE pending_vectors RENAME TO lost");
      let isOver = false;
      const resolving = session.resolveDirty().finally(() => {
        isOver = true;
      });
      resolving.catch(() => {});
      await summarizer.waiting();
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(isOver).toBe(false);
      summarizer.release();
      await expect(resolving).rejects.toMatchObject({ code: "STORE_CORRUPT" });
      database.exec("ALTER TABLE lost RENAME TO pending_vectors");
    });
    const rows = (): unknown => store.query("SELECT status, count(*) AS n FROM summaries GROUP BY status");
    expect(rows()).toEqual([{ status: "done", n: 3 }]);
  });

  test("listens to one signal as often as it has calls under way, and Node does not take that for a leak", async () => {
    const { session, summarizer } = dirtySession(["hang"], 0, { maxThemes: 30 });
    for (let subject = 0; subject < 40; subject++) {
      const content = Array.from({ length: 60 }, (_, word) => `thing${subject}x${word % 20}`).join(" ");
      session.append([user(content), assistant(content)]);
    }
    const warnings: string[] = [];
    const listen = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", listen);
    const controller = new AbortController();
    const resolving = session.resolveDirty({ signal: controller.signal, concurrency: 30 });
    await summarizer.waiting();
    controller.abort();
    await expect(resolving).rejects.toThrow("abort");
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(summarizer.requests.length).toBeGreaterThan(10);
    expect(warnings).toEqual([]);
  });
});

describe("a summary", () => {
  test("shows from the next move of the frontier on, and changes nothing before", async () => {
    const { path, session } = dirtySession(["good"]);
    const rendered = (one = session) => JSON.stringify(one.render({ tokensMax: SMALLER }));
    const before = rendered();
    await session.resolveDirty();
    expect(rendered()).toBe(before);
    expect(rendered(openedStore(path, { readonly: true }).resume("s"))).toBe(before);
    expect(session.roots()[0]!.summaries[0]!.shown).toBe(false);
    session.compact();
    expect(session.roots()[0]!.summaries[0]!.shown).toBe(true);
    const { messages, sources } = session.render({ tokensMax: SMALLER });
    expect(JSON.stringify(messages[0])).toContain("Messages 0 to ");
    expect(sources.some(({ how }) => how === "summary")).toBe(true);
  });

  test("of a cluster that grew is joined by the next one, and both are shown", async () => {
    const { session, store } = dirtySession(["good"], 30, {}, 100);
    await session.resolveDirty();
    session.append(talk(12, 100));
    await session.resolveDirty();
    session.compact();
    const shown = session.render({ tokensMax: 4_000 });
    const text = JSON.stringify(shown.messages[0]);
    expect(text).toContain("Messages 0 to 25.");
    expect(text).toContain("Messages 26 to ");
    const sources = shown.sources.filter(({ how }) => how === "summary");
    expect(sources).toMatchObject([{ handle: expect.stringMatching(/^cluster:/) }]);
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.query("SELECT count(*) AS n FROM summaries WHERE shown_from > 0 AND shown_until IS NULL")).toEqual([
      { n: 2 },
    ]);
  });
});

test("between two moves of the frontier a context begins with the bytes of the one before it", async () => {
  const { session } = dirtySession(["good"], 40, { evictBatch: 12 });
  let versions = 0;
  let kept = 0;
  for (const message of talk(60)) {
    const before = session.render({ tokensMax: 100_000 });
    const move = session
      .roots()
      .map(({ root }) => root)
      .join();
    await session.resolveDirty();
    session.append(message);
    const after = session.render({ tokensMax: 100_000 });
    if (
      session
        .roots()
        .map(({ root }) => root)
        .join() !== move
    ) {
      versions += 1;
      continue;
    }
    kept += 1;
    const prefix = after.messages.slice(0, before.messages.length);
    expect(JSON.stringify(prefix)).toBe(JSON.stringify(before.messages));
  }
  expect({ versions, kept }).toEqual({ versions: 5, kept: 55 });
});

test("what was paid for is written once the store is no longer busy", async () => {
  const { path, session } = dirtySession(["good"], 40, {}, 100);
  const summarizer = scriptedSummarizer("slow");
  const busy = openedStore(path, { summarizer, busyTimeoutMs: 0 }).resume("s");
  const resolving = busy.resolveDirty();
  await summarizer.waiting();
  await inDatabaseAsync(path, async (database) => {
    database.exec("BEGIN IMMEDIATE");
    summarizer.release();
    await new Promise((resolve) => setTimeout(resolve, 100));
    database.exec("ROLLBACK");
  });
  expect(await resolving).toMatchObject({ resolved: 1 });
  expect(summarizer.requests).toHaveLength(1);
  expect(session.roots()[0]!.summaries).toHaveLength(1);
});

test("an abort ends the wait for a busy store, and its error is not taken for the summarizer's", async () => {
  const { path, session } = dirtySession(["good"], 40, {}, 100);
  const summarizer = scriptedSummarizer("slow");
  const busy = openedStore(path, { summarizer, busyTimeoutMs: 0 }).resume("s");
  const controller = new AbortController();
  const resolving = busy.resolveDirty({ signal: controller.signal });
  await summarizer.waiting();
  await inDatabaseAsync(path, async (database) => {
    database.exec("BEGIN IMMEDIATE");
    summarizer.release();
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await expect(resolving).rejects.toThrow("enough");
    database.exec("ROLLBACK");
  });
  expect(session.roots()[0]!.summaries).toEqual([]);
});
