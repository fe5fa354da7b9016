import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import type { ResolveEvent, Session, Store, Summarizer } from "../../../src/index.ts";
import { inDatabaseAsync } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { costing, scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 3, resolveTokensMin: 50, summaryTokensMax: 60 };
const NONE = { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };

/** Three due clusters. */
function dirty(summarizer: Summarizer): { store: Store; session: Session } {
  const store = temporaryStore({ summarizer, clock: () => 1_700_000_000_000 });
  const session = store.session("s", SETTINGS);
  session.append(talk(28));
  session.compact();
  return { store, session };
}

describe("limits of a run", () => {
  test("end it after so many calls, however many are under way at once", async () => {
    const summarizer = scriptedSummarizer("good");
    const { session } = dirty(summarizer);
    expect(await session.resolveDirty({ callsMax: 0 })).toEqual({ ...NONE, deferred: 3 });
    expect(await session.resolveDirty({ callsMax: 2 })).toEqual({ ...NONE, resolved: 2, deferred: 1 });
    expect(summarizer.requests).toHaveLength(2);
    expect(await session.resolveDirty({ callsMax: 2 })).toEqual({ ...NONE, resolved: 1 });
  });

  test("begin nothing that may cost more tokens than are left", async () => {
    const summarizer = scriptedSummarizer("good");
    const { session } = dirty(summarizer);
    expect(await session.resolveDirty({ tokensMax: 100 })).toEqual({ ...NONE, deferred: 3 });
    expect(summarizer.requests).toEqual([]);
    const tokens = tokensOf(session);
    // What is sent, and replies of full length; so much is set aside for all three.
    expect(await session.resolveDirty({ tokensMax: tokens + 3 * 60, concurrency: 3 })).toEqual({
      ...NONE,
      resolved: 3,
    });
  });

  test("count what the service reports in place of what was estimated", async () => {
    const cheap = dirty(costing(scriptedSummarizer("good"), { inputTokens: 1, outputTokens: 1 }));
    const tokens = tokensOf(cheap.session);
    expect(await cheap.session.resolveDirty({ tokensMax: tokens, concurrency: 1 })).toMatchObject({ resolved: 3 });
    const dear = dirty(costing(scriptedSummarizer("good"), { inputTokens: 100_000, outputTokens: 1 }));
    const run = await dear.session.resolveDirty({ tokensMax: 100_000, concurrency: 1 });
    expect(run).toMatchObject({ resolved: 1, deferred: 2 });
  });

  test("are given back for what could not be claimed", async () => {
    const summarizer = scriptedSummarizer("good");
    const path = temporaryPath();
    const store = openedStore(path, { summarizer, busyTimeoutMs: 0, clock: Date.now });
    const session = store.session("s", { ...SETTINGS, maxThemes: 1 });
    session.append(talk(40, 100));
    const kinds: string[] = [];
    await inDatabaseAsync(path, async (database) => {
      database.exec("BEGIN IMMEDIATE");
      session.startResolving({ callsMax: 1, onEvent: ({ kind }) => void kinds.push(kind) });
      await once(process, "warning");
      database.exec("ROLLBACK");
    });
    await vi.waitUntil(() => kinds.includes("resolved"), { timeout: 3_000 });
    expect(summarizer.requests).toHaveLength(1);
  });

  test.each([
    { inputTokens: Number.NaN, outputTokens: undefined as never, costUsd: Number.NaN },
    { inputTokens: -1_000_000, outputTokens: Number.POSITIVE_INFINITY, costUsd: -1 },
  ])("hold whatever the summarizer says that it cost: %o", async (usage) => {
    const { session, store } = dirty(costing(scriptedSummarizer("good"), usage));
    expect(await session.resolveDirty({ callsMax: 2, concurrency: 1 })).toEqual({ ...NONE, resolved: 2, deferred: 1 });
    const costs = { summaryInputTokens: 0, summaryOutputTokens: 0, summaryCostUsd: null };
    expect(store.stats()).toMatchObject(costs);
  });

  test("are none for a summarizer on this machine", async () => {
    const { session } = dirty({ ...scriptedSummarizer("good"), isLocal: true });
    expect(await session.resolveDirty({ callsMax: 0, tokensMax: 0 })).toEqual({ ...NONE, resolved: 3 });
  });

  test.each([{ callsMax: -1 }, { tokensMax: 0.5 }, { onEvent: "loud" as never }, { contextTokensMax: 0 }])(
    "are refused where they make no sense: %o",
    async (options) => {
      const { session } = dirty(scriptedSummarizer("good"));
      await expect(session.resolveDirty(options)).rejects.toMatchObject({ code: "OPTION_INVALID" });
      if (!("callsMax" in options)) expect(() => session.startResolving(options)).toThrow("Expected");
    },
  );
});

describe("events of a run", () => {
  test("tell of each summary what became of it, and what it cost", async () => {
    const usage = { inputTokens: 100, outputTokens: 10, costUsd: 0.25 };
    const { session, store } = dirty(costing(scriptedSummarizer("good", "fail", "good"), usage));
    const events: ResolveEvent[] = [];
    await session.resolveDirty({ concurrency: 1, onEvent: (event) => void events.push(event) });
    const handle = expect.stringMatching(/^cluster:\d+@\d+$/);
    const base = { sessionId: "s", handle };
    expect(events).toEqual([
      { ...base, kind: "started" },
      { ...base, kind: "resolved", tokenCount: expect.any(Number), isStale: false, ...usage },
      { ...base, kind: "started" },
      { ...base, kind: "failed", error: "quota exceeded", nextTryAtMs: expect.any(Number), ...usage },
      { ...base, kind: "started" },
      { ...base, kind: "resolved", tokenCount: expect.any(Number), isStale: false, ...usage },
    ]);
    const again: ResolveEvent[] = [];
    await session.resolveDirty({ onEvent: (event) => void again.push(event) });
    expect(again).toEqual([{ ...base, kind: "deferred", reason: "backing_off", nextTryAtMs: events[3]!.nextTryAtMs }]);
    expect(store.query("SELECT * FROM summary_costs WHERE summarizer_id = 'scripted'")).toEqual([
      {
        session_id: "s",
        summarizer_id: "scripted",
        summary_count: 2,
        failed_count: 1,
        parked_count: 0,
        claimed_count: 0,
        input_tokens: 300,
        output_tokens: 30,
        cost_usd: 0.75,
      },
    ]);
  });

  test("may begin another run, which comes after this one", async () => {
    const { session, store } = dirty(scriptedSummarizer("good"));
    let second: Promise<unknown> | undefined;
    const onEvent = (): void => {
      second ??= session.resolveDirty();
    };
    expect(await session.resolveDirty({ onEvent })).toEqual({ ...NONE, resolved: 3 });
    expect(await second).toEqual(NONE);
    expect(store.stats()).toMatchObject({ summaryCount: 3, standInCount: 0 });
  });

  test("whose listener throws, at once or later, are shown as warnings and change nothing", async () => {
    const { session } = dirty(scriptedSummarizer("good"));
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    try {
      const onEvent = ({ kind }: ResolveEvent): Promise<never> => {
        if (kind === "started") throw new Error("the listener is tired");
        return Promise.reject(new Error("and asleep"));
      };
      expect(await session.resolveDirty({ onEvent })).toEqual({ ...NONE, resolved: 3 });
      await new Promise((resolve) => setTimeout(resolve, 10));
    } finally {
      process.off("warning", listen);
    }
    expect(warnings).toHaveLength(6);
    expect(warnings.map(String).join()).toContain("the listener is tired");
    expect(warnings.map(String).join()).toContain("and asleep");
  });
});

/** Of all clusters, each message with what it costs beside its text. */
function tokensOf(session: Session): number {
  return session.roots().reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}
