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
  session.roots().flatMap(({ summaries }) => summaries.map(({ summarizerId }) => summarizerId));

const summariesIn = ({ sources }: RenderResult): string[] =>
  sources.filter(({ how }) => how === "summary").map((source) => JSON.stringify(source));

describe("a cluster", () => {
  test("has no stand-in, because contexts quote its messages", async () => {
    const { store, session, later } = opened({}, "fail", "good");
    session.append(talk(40, 100));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    session.compact();
    expect(makersOf(session)).toEqual([]);
    expect(summariesIn(session.render({ tokensMax: 2_000 }))).toEqual([]);
    expect(store.stats()).toMatchObject({ summaryCount: 0, standInCount: 0 });
    later();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    session.compact();
    expect(makersOf(session)).toEqual(["scripted"]);
    const shown = session.render({ tokensMax: 2_000 }); // no room for all messages
    expect(summariesIn(shown)).toHaveLength(1);
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  });

  test("has no summary by the extractive summarizer either", async () => {
    const store = temporaryStore();
    const session = store.session("s", SETTINGS);
    session.append(talk(40, 100));
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    session.compact();
    expect(makersOf(session)).toEqual([]);
    expect(store.stats().summaryCount).toBe(0);
    expect(store.doctor().find(({ check }) => check === "summaries")).toMatchObject({ level: "ok" });
  });
});

describe("in a flat context, what stands in for a summary", () => {
  const FLAT = { strategy: "flat", contextTokensMax: 600 } as const;

  test("makes room, but the context still wants the summarizer's own", async () => {
    const { store, session, summarizer, later } = opened(FLAT, "good", "fail", "fail", "good");
    session.append(talk(30, 100));
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
    const made = summarizer.requests.length;
    session.append(talk(30, 100));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    const shown = session.render();
    expect(shown.omitted).toEqual([]);
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.query("SELECT stands_in FROM summaries WHERE status = 'done'")).toEqual([
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
    expect(store.query("SELECT stands_in FROM summaries WHERE status = 'done'")).toEqual([
      { stands_in: 0 },
      { stands_in: 0 },
    ]);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("goes with any of its messages that is forgotten", async () => {
    const { store, session } = opened(FLAT, "fail");
    session.append(talk(40, 100));
    await session.resolveDirty();
    expect(store.stats().standInCount).toBe(1);
    expect(store.forget("s", { messageIds: [3] }).summaryCount).toBe(1);
    expect(store.stats().standInCount).toBe(0);
  });

  test("is not made by or for a summarizer on this machine", async () => {
    const local = temporaryStore({ summarizer: { ...scriptedSummarizer("fail"), isLocal: true } });
    const session = local.session("s", { ...SETTINGS, ...FLAT });
    session.append(talk(40, 100));
    expect(await session.resolveDirty()).toMatchObject({ failed: 1 });
    expect(local.stats().standInCount).toBe(0);
  });
});
