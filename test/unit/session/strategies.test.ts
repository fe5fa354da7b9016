import { describe, expect, test } from "vitest";
import { unaccountedCount } from "../../../scripts/eval/context-checks.ts";
import type { MessageInput, Session, SessionOptions, Store } from "../../../src/index.ts";
import { quarterCounter } from "../../support/render-model.ts";
import { inSealed } from "../../support/rows.ts";
import { calls, results } from "../../support/said.ts";
import { type Behavior, type ScriptedSummarizer, scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

interface Opened {
  path: string;
  store: Store;
  session: Session;
  summarizer: ScriptedSummarizer;
}

/** A session whose contexts have 1,000 tokens. */
function opened(options: SessionOptions, ...script: Behavior[]): Opened {
  const path = temporaryPath();
  const summarizer = scriptedSummarizer(...script);
  const store = openedStore(path, { summarizer, tokenCounter: quarterCounter });
  return { path, store, summarizer, session: store.session("s", { contextTokensMax: 1_000, ...options }) };
}

/** Messages of a hundred tokens each, user and assistant in turn: 4 and their text's. */
function hundreds(count: number): MessageInput[] {
  return Array.from({ length: count }, (_, index) => {
    return { role: index % 2 === 0 ? "user" : "assistant", content: "abcd".repeat(96) };
  });
}

/** What a context is made of, in order: places, and handles of summaries. The digest is left out. */
function shape(session: Session, options = {}): (number | string)[] {
  const { sources, composed } = session.render(options);
  const inOrder = sources
    .filter((source) => "handle" in source || !composed.includes(source.messageIndex))
    .toSorted((left, right) => left.messageIndex - right.messageIndex);
  return inOrder.map((source) => ("handle" in source ? source.handle : source.seqFirst));
}

/** A session whose summary was asked for and parked, because it is no shorter than its messages. */
async function parked(...script: Behavior[]): Promise<Opened> {
  const one = opened({ strategy: "flat", flatTail: 0.02 }, "inflate", ...script);
  one.session.append(Array.from({ length: 6 }, (): MessageInput => ({ role: "user", content: "abcd".repeat(6) })));
  one.session.compact();
  expect(await one.session.resolveDirty()).toMatchObject({ resolved: 0, parked: 1 });
  return one;
}

const rows = (store: Store, columns: string) => store.query(`SELECT ${columns} FROM summaries ORDER BY id`);

describe("flat", () => {
  test("shows everything until a summary is made, then that and the newest messages", async () => {
    const { store, session } = opened({ strategy: "flat" });
    session.append(hundreds(7));
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    session.append(hundreds(1));
    expect(shape(session)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await session.resolveDirty()).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(shape(session)).toEqual(["span:1@5", 5, 6, 7]);
    expect(store.expand("span:1@5").members).toEqual(session.messages({ seqTo: 4 }));
    expect(JSON.stringify(session.render().messages[0]!.parts)).toContain("Messages 0 to 4.");
  });

  test("makes the next summary from the last one and what came since", async () => {
    const { store, session, summarizer } = opened({ strategy: "flat" });
    session.append(hundreds(8));
    await session.resolveDirty();
    session.append(hundreds(3)); // 600 tokens, and a summary of 9
    await session.resolveDirty();
    expect(summarizer.requests.length).toBe(1);
    session.append(hundreds(1));
    await session.resolveDirty();
    const { previous, sources } = summarizer.requests[1]!;
    expect([previous.length, ...sources.map(({ seq }) => seq)]).toEqual([1, 5, 6, 7, 8]);
    expect(rows(store, "seq_first, seq_last, message_count, reading_depth")).toEqual([
      { seq_first: 0, seq_last: 4, message_count: 5, reading_depth: 0 },
      { seq_first: 0, seq_last: 8, message_count: 9, reading_depth: 1 },
    ]);
    expect(shape(session)).toEqual(["span:1@9", 9, 10, 11]);
  });

  test("leaves what is pinned out of the summary", async () => {
    const { store, session, summarizer } = opened({ strategy: "flat" });
    session.append({ role: "system", content: "Be brief." });
    session.append(hundreds(8));
    await session.resolveDirty();
    expect(summarizer.requests[0]!.sources.map(({ role }) => role)).not.toContain("system");
    expect(shape(session)).toEqual([0, "span:2@7", 7, 8]);
    expect(store.expand("span:2@7").memberCount).toBe(6);
  });

  test("wins with each summary what several messages take, also where most of the budget is pinned", async () => {
    const { session, summarizer } = opened({ strategy: "flat", contextTokensMax: 2_000 });
    session.append({ role: "system", content: "abcd".repeat(1_196) }); // 1,200 tokens
    for (const message of hundreds(40)) {
      session.append(message);
      await session.resolveDirty();
    }
    // Of 800 tokens 560 trigger, 240 stay, and a summary has 80: at least three messages come before the next.
    expect(summarizer.requests.length).toBeLessThanOrEqual(13);
    expect(summarizer.requests.every(({ tokensMax }) => tokensMax === 80)).toBe(true);
    expect(session.render().sources.map(({ how }) => how)).toContain("summary");
  });

  test("keeps a call that waits for its result, whatever has come after it", async () => {
    const { session } = opened({ strategy: "flat" });
    const strays = ["x", "y", "z"].map((id) => results([id], "abcd".repeat(94)));
    session.append([...hundreds(7), calls(["c"]), ...strays]);
    await session.resolveDirty();
    expect(shape(session, { tokensMax: 1_500 })).toEqual(["span:1@7", 7, 8, 9, 10]);
  });

  test("reads no whole history to show its end", () => {
    const { store, session } = opened({ strategy: "flat" });
    session.append(hundreds(1_200).map((message) => ({ ...message, content: "ok" })));
    const context = session.render({ tokensMax: 100 });
    // From the last but one of every five hundred on, the messages are at hand; the others are counted.
    expect(context.omitted).toMatchObject([{ kind: "range", seqFirst: 0, messageCount: expect.any(Number) }]);
    const large = session.render({ tokensMax: 10_000 });
    expect(large.omitted).toMatchObject([{ kind: "theme", handle: "span:1@500", seqLast: 499 }]);
    expect(unaccountedCount(store, session, context)).toBe(0);
    expect(unaccountedCount(store, session, large)).toBe(0);
  });
});

test("does not begin in the middle of a step where it leaves off reading", () => {
  const { store, session } = opened({ strategy: "flat" });
  const short = hundreds(1_199).map((message) => ({ ...message, content: "ok" }));
  session.append([...short.slice(0, 499), calls(["c"]), results(["c"]), ...short.slice(499)]);
  const context = session.render({ tokensMax: 10_000 });
  expect(context.omitted).toMatchObject([{ kind: "theme", handle: "span:1@501", seqLast: 500 }]);
  expect(unaccountedCount(store, session, context)).toBe(0);
});

test("shows a newest step of more messages than are read at once", () => {
  const { store, session } = opened({ strategy: "flat" });
  const ids = Array.from({ length: 1_200 }, (_, index) => `c${index}`);
  session.append([{ role: "user", content: "go" }, calls(ids)]);
  for (const id of ids) session.append(results([id]));
  const context = session.render({ tokensMax: 100_000 });
  expect(context.messages.length).toBeGreaterThan(1_200);
  expect(unaccountedCount(store, session, context)).toBe(0);
});

describe("sandwich", () => {
  test("keeps the first and the newest messages, and between them one summary", async () => {
    const { session } = opened({ strategy: "sandwich" });
    session.append(hundreds(9));
    await session.resolveDirty();
    expect(shape(session)).toEqual([0, 1, "span:3@6", 6, 7, 8]);
    session.append(hundreds(4)); // 900 tokens with the first two, and a summary of 9
    await session.resolveDirty();
    expect(shape(session)).toEqual([0, 1, "span:3@10", 10, 11, 12]);
  });

  test("shows as much of the first messages as a smaller budget has room for", async () => {
    const { store, session } = opened({ strategy: "sandwich" });
    session.append(hundreds(9));
    await session.resolveDirty();
    const { sources } = session.render({ tokensMax: 600 });
    // A fifth is 120 tokens. The digest shows others.
    expect(sources.find(({ seqFirst }) => seqFirst === 0)).toMatchObject({ messageIndex: 0, how: "verbatim" });
    expect(sources.filter((source) => "messageId" in source && source.messageIndex === 1).length).toBeGreaterThan(1);
    expect(sources.at(-1)).toMatchObject({ how: "summary" });
    for (const tokensMax of [200, 300, 400, 500, 600, 700, 800, 900]) {
      expect(unaccountedCount(store, session, session.render({ tokensMax })), `${tokensMax}`).toBe(0);
    }
  });

  test("gives up its first messages, half of them at a time, rather than the newest", async () => {
    const { session } = opened({ strategy: "sandwich" });
    session.append(hundreds(9));
    await session.resolveDirty();
    session.append({ role: "user", content: "abcd".repeat(846) }); // 850 tokens
    expect(shape(session)).toEqual([0, 9]);
    session.append({ role: "user", content: "abcd".repeat(946) });
    expect(shape(session)).toEqual([10]);
  });
});

describe("full", () => {
  test("shows every message, or says what that takes", () => {
    const { session } = opened({});
    session.append(hundreds(10));
    expect(shape(session, { strategy: "full" })).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(() => session.render({ strategy: "full", tokensMax: 999 })).toThrow(
      expect.objectContaining({
        code: "BUDGET_TOO_SMALL",
        message: "A context of 999 tokens cannot hold every message: they need 1000.",
        details: { tokensMax: 999, tokensNeeded: 1_000, strategy: "full" },
      }),
    );
  });

  test("wants no summary", async () => {
    const { session, summarizer } = opened({ strategy: "full" });
    session.append(hundreds(20));
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(summarizer.requests).toEqual([]);
    expect(session.compact()).toEqual({ compacted: false, reason: "never_compacted" });
  });
});

describe("the strategy", () => {
  test("is the call's, or the session's, which is kept", async () => {
    const { path, store, session } = opened({});
    session.append(hundreds(8));
    await session.resolveDirty({ strategy: "flat" });
    expect(shape(session)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(shape(session, { strategy: "flat" })).toEqual(["span:1@5", 5, 6, 7]);
    store.session("s", { strategy: "flat" });
    store.close();
    expect(shape(openedStore(path, { tokenCounter: quarterCounter }).resume("s"))).toEqual(["span:1@5", 5, 6, 7]);
  });

  test("is refused where there is none of that name, and where it takes no query", () => {
    const { session } = opened({});
    session.append({ role: "user", content: "Which region?" });
    const refusal = (expected: string, actual: string) =>
      expect.objectContaining({ code: "OPTION_INVALID", details: { option: "strategy", expected, actual } });
    expect(() => session.render({ strategy: "round" as "flat" })).toThrow(
      refusal("one of union-find, sandwich, flat, full", "round"),
    );
    expect(() => session.render({ strategy: null as unknown as "flat" })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
    expect(() => session.render({ strategy: "flat", query: "region" })).toThrow(
      refusal("union-find with a query", "flat"),
    );
  });
});

describe("compact", () => {
  test("asks for the summary of a context that is not full yet, once", async () => {
    const { session } = opened({ strategy: "flat" });
    session.append(hundreds(3));
    expect(session.compact()).toEqual({ compacted: false, reason: "nothing_to_compress" });
    session.append(hundreds(3));
    expect(session.compact()).toEqual({ compacted: true });
    expect(session.compact()).toEqual({ compacted: false, reason: "already_due" });
    expect(shape(session)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    expect(shape(session)).toEqual(["span:1@3", 3, 4, 5]);
    expect(session.compact()).toEqual({ compacted: false, reason: "nothing_to_compress" });
  });

  test("says when the middle of a sandwich is too small", () => {
    const { session } = opened({ strategy: "sandwich" });
    session.append(hundreds(8));
    expect(session.compact()).toEqual({ compacted: false, reason: "middle_too_small" });
    expect(session.compact({ tokensMax: 500 })).toEqual({ compacted: true });
  });

  test("says whether a forest took anything in", () => {
    const { session } = opened({ hotSize: 2, overlap: 0 });
    session.append(hundreds(2));
    expect(session.compact()).toEqual({ compacted: false, reason: "nothing_to_compress" });
    session.append(hundreds(2));
    expect(session.compact()).toEqual({ compacted: true });
  });
});

test("a wish for a summary leaves nothing more to compact", async () => {
  const { session } = opened({ strategy: "flat" });
  session.append(hundreds(8));
  expect(session.pressure().compactableTokens).toBe(500);
  session.compact();
  expect(session.pressure().compactableTokens).toBe(0);
});

test.each(["flat", "sandwich", "full"] as const)("a %s context costs nothing where nothing has changed", (strategy) => {
  let countedTexts = 0;
  const count = (text: string): number => {
    countedTexts += 1;
    return quarterCounter.count(text);
  };
  const store = openedStore(temporaryPath(), { tokenCounter: { ...quarterCounter, count } });
  const session = store.session("s", { strategy, contextTokensMax: 1_000 });
  session.append(calls(["c"]));
  session.append(hundreds(5));
  const first = session.render();
  const counted = countedTexts;
  expect(session.render()).toEqual(first);
  expect(countedTexts).toBe(counted);
  session.append(hundreds(1));
  expect(session.render().messages.length).toBeGreaterThan(first.messages.length);
  expect(countedTexts).toBeGreaterThan(counted);
});

test("a context is made anew for a new summary", async () => {
  const { session } = opened({ strategy: "flat" });
  session.append(hundreds(8));
  const before = session.render();
  expect(session.render()).toEqual(before);
  before.messages.length = 0;
  expect(shape(session)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await session.resolveDirty();
  expect(shape(session)).toEqual(["span:1@5", 5, 6, 7]);
  expect(shape(session, { strategy: "sandwich" })).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(shape(session, { tokensMax: 500 })[0]).toBe("span:1@5");
});

describe("a summary of a stretch", () => {
  test("is tried again after it failed, and each try counts", async () => {
    const { store, session } = opened({ strategy: "flat" }, "fail", "good");
    session.append(hundreds(8));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0, failed: 1 });
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1, failed: 0 });
    expect(rows(store, "status, attempts, error")).toEqual([{ status: "done", attempts: 2, error: null }]);
  });

  test("takes the place of older ones, but for the last few, whose handles still expand", async () => {
    const { store, session } = opened({ strategy: "flat" });
    session.append(hundreds(8));
    session.compact();
    await session.resolveDirty();
    const [first] = shape(session);
    for (let round = 0; round < 4; round++) {
      session.append(hundreds(5));
      await session.resolveDirty();
    }
    expect(rows(store, "status, seq_last")).toEqual([
      { status: "done", seq_last: 14 },
      { status: "done", seq_last: 19 },
      { status: "done", seq_last: 24 },
    ]);
    expect(store.expand(first!).memberCount).toBe(5);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("is parked where it is no shorter than its messages, until there are more of them", async () => {
    const { session, summarizer } = await parked();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0, parked: 0 });
    expect(session.compact()).toEqual({ compacted: false, reason: "nothing_to_compress" });
    expect(summarizer.requests.length).toBe(1);
    session.append(hundreds(2));
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1, parked: 0 });
  });

  test("is due again for another summarizer than the one that has given it up", async () => {
    const { store, path } = await parked();
    store.close();
    const summarizer = { ...scriptedSummarizer("good"), id: "another" };
    const other = openedStore(path, { summarizer, tokenCounter: quarterCounter }).session("s");
    expect(other.compact()).toEqual({ compacted: false, reason: "already_due" });
    expect(await other.resolveDirty()).toMatchObject({ resolved: 1 });
  });

  test("that was asked for and parked keeps no full context from being compacted", async () => {
    const { session, summarizer } = await parked("good");
    session.append(hundreds(8));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    expect(summarizer.requests.length).toBe(2);
  });

  test("is not kept when another process has summarized more meanwhile", async () => {
    const { path, session, summarizer } = opened({ strategy: "flat" }, "slow");
    session.append(hundreds(8));
    const resolving = session.resolveDirty();
    await summarizer.waiting();
    // By its clock the first one has been asleep for years.
    const later = {
      summarizer: scriptedSummarizer("good"),
      tokenCounter: quarterCounter,
      clock: () => 2_000_000_000_000,
    };
    const quick = openedStore(path, later).resume("s");
    quick.append(hundreds(2));
    expect(await quick.resolveDirty()).toMatchObject({ resolved: 1 });
    summarizer.release();
    expect(await resolving).toMatchObject({ resolved: 0, stale: 1 });
    expect(shape(session)).toEqual(["span:1@7", 7, 8, 9]);
  });

  test("is not kept when a message of it was forgotten meanwhile", async () => {
    const { store, session, summarizer } = opened({ strategy: "flat" }, "slow", "good");
    session.append(hundreds(8));
    const resolving = session.resolveDirty();
    await summarizer.waiting();
    store.forget("s", { messageIds: [2] });
    summarizer.release();
    expect(await resolving).toMatchObject({ resolved: 0, stale: 1 });
    expect(rows(store, "id")).toEqual([]);
  });

  test("goes with any of its messages that is forgotten, and with its tries; not with others", async () => {
    const { store, session } = opened({ strategy: "flat" }, "fail", "good");
    session.append(hundreds(8));
    await session.resolveDirty();
    await session.resolveDirty();
    expect(store.forget("s", { messageIds: [8] }).summaryCount).toBe(0);
    expect(rows(store, "status")).toEqual([{ status: "done" }]);
    expect(shape(session)).toEqual(["span:1@5", 5, 6]);
    expect(store.forget("s", { messageIds: [3] }).summaryCount).toBe(1);
    expect(shape(session)).toEqual([0, 1, 3, 4, 5, 6]);
    expect(store.stats().summaryCount).toBe(0);
  });

  test.each(["message_count = 4", "source_digest = 'ab'", "seq_last = 3", "log_position = 4"])(
    "is found by verify with a wrong %s, and goes when it rebuilds",
    async (change) => {
      const { path, store, session } = opened({ strategy: "flat" });
      session.append(hundreds(8));
      await session.resolveDirty();
      expect(store.verify()).toMatchObject({ ok: true });
      inSealed(path, (database) => database.exec(`UPDATE summaries SET checksum = -1, ${change}`));
      expect(store.verify().problems).toEqual([
        { sessionId: "s", text: "summary 2 does not match the messages that it names", rebuildable: true },
      ]);
      expect(store.verify({ rebuild: true })).toMatchObject({ ok: true });
      expect(shape(session)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    },
  );
});
