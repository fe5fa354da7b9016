import { describe, expect, test } from "vitest";
import type { RenderResult, Session, Store } from "../../../src/index.ts";
import { claimFaults } from "../../support/claims.ts";
import { talk } from "../../support/said.ts";
import { type Behavior, type ScriptedSummarizer, scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50, summaryTokensMax: 60 };
const HOUR_MS = 3_600_000;

interface Setting {
  store: Store;
  session: Session;
  summarizer: ScriptedSummarizer;
  /** Later, when failures may be tried again. */
  later(): void;
}

function opened(settings: object, ...script: Behavior[]): Setting {
  let nowMs = 1_700_000_000_000;
  const summarizer = scriptedSummarizer(...script);
  const store = temporaryStore({ summarizer, clock: () => nowMs });
  const session = store.session("s", { ...SETTINGS, ...settings });
  const later = (): void => {
    nowMs += HOUR_MS;
  };
  return { store, session, summarizer, later };
}

const makersOf = (session: Session): string[] =>
  session.roots().flatMap(({ summaries }) => summaries!.map(({ summarizerId }) => summarizerId));

const summariesIn = ({ sources }: RenderResult): string[] =>
  sources.filter(({ how }) => how === "summary").map((source) => JSON.stringify(source));

describe("what stands in for a summary", () => {
  test("covers messages like one, without being shown, and gives way to the summarizer's own", async () => {
    const { store, session, later } = opened({}, "fail", "good");
    session.appendAll(talk(40));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    session.compact();
    expect(makersOf(session)).toEqual(["extractive"]);
    const shown = session.render();
    expect(summariesIn(shown)).toEqual([]); // the digest quotes the messages
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.stats()).toMatchObject({ summaryCount: 1, standInCount: 1 });
    later();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    session.compact();
    expect(makersOf(session)).toEqual(["scripted"]);
    expect(store.stats()).toMatchObject({ summaryCount: 2, standInCount: 0 });
    expect(claimFaults(store, session, session.render())).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  });

  test("stands before the summarizer's earlier one, which the next one builds on", async () => {
    const { store, session, summarizer, later } = opened({}, "good", "fail", "good");
    session.appendAll(talk(20));
    await session.resolveDirty();
    session.compact();
    const first = session.roots()[0]!.summaries![0]!;
    session.appendAll(talk(60));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    session.compact();
    expect(makersOf(session)).toEqual(["extractive"]);
    const shown = session.render();
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(summariesIn(shown)).toEqual([]);

    later();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    const { previous, sources } = summarizer.requests.at(-1)!;
    expect(previous).toEqual([{ title: first.title, text: first.text }]);
    expect(sources[0]!.seq).toBe(first.messageCount);
    session.compact();
    expect(makersOf(session)).toEqual(["scripted"]);
    expect(claimFaults(store, session, session.render())).toEqual([]);
    expect(store.query("SELECT count(*) AS n FROM summaries WHERE shown_from > 0 AND shown_until IS NULL")).toEqual([
      { n: 1 },
    ]);
  });

  test("is made again only when enough has come since", async () => {
    const { store, session } = opened({}, "fail");
    session.appendAll(talk(40));
    for (let round = 0; round < 3; round++) await session.resolveDirty();
    expect(store.stats().standInCount).toBe(1);
    session.appendAll(talk(60));
    await session.resolveDirty();
    expect(store.stats().standInCount).toBe(2);
    session.compact();
    expect(makersOf(session)).toEqual(["extractive"]);
    expect(claimFaults(store, session, session.render())).toEqual([]);
  });

  test("goes with any of its messages that is forgotten", async () => {
    const { store, session } = opened({}, "fail");
    session.appendAll(talk(40));
    await session.resolveDirty();
    expect(store.forget("s", { messageIds: [3] }).summaryCount).toBe(1);
    expect(store.stats().standInCount).toBe(0);
  });

  test("is nothing where the sources are no longer than a summary, or the summarizer is on this machine", async () => {
    const inflating = opened({ summaryTokensMax: 5_000 }, "inflate");
    inflating.session.appendAll(talk(20));
    expect(await inflating.session.resolveDirty()).toMatchObject({ parked: 1 });
    expect(await inflating.session.resolveDirty()).toMatchObject({ parked: 1 });
    expect(makersOf(inflating.session)).toEqual([]);

    const local = temporaryStore({ summarizer: { ...scriptedSummarizer("fail"), isLocal: true } });
    const session = local.session("s", SETTINGS);
    session.appendAll(talk(40));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    expect(makersOf(session)).toEqual([]);
  });
});

describe("in a flat context, what stands in for a summary", () => {
  const FLAT = { strategy: "flat", contextTokensMax: 600 } as const;

  test("makes room, but the context still wants the summarizer's own", async () => {
    const { store, session, summarizer, later } = opened(FLAT, "good", "fail", "fail", "good");
    session.appendAll(talk(30));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    const made = summarizer.requests.length;
    session.appendAll(talk(30));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    const shown = session.render();
    expect(shown.omitted).toEqual([]);
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.query("SELECT stands_in FROM span_summaries WHERE status = 'done'")).toEqual([
      { stands_in: 0 },
      { stands_in: 1 },
    ]);
    // It has room again, so nothing more is made of it for nothing.
    later();
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    expect(session.render()).toEqual(shown);

    later();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    expect(summarizer.requests.length).toBe(made + 3);
    expect(summarizer.requests.at(-1)!.previous).toHaveLength(1);
    expect(summarizer.requests.at(-1)!.previous[0]!.title).toBe("What was said");
    expect(store.query("SELECT stands_in FROM span_summaries WHERE status = 'done'")).toEqual([
      { stands_in: 0 },
      { stands_in: 0 },
    ]);
    expect(store.verify()).toMatchObject({ ok: true });
  });
});
