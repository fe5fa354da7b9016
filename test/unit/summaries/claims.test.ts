import { spawnSync } from "node:child_process";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ResolveEvent, Session, Store, Summarizer } from "../../../src/index.ts";
import { renamedEmbedder } from "../../support/other-embedders.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import {
  type Behavior,
  costing,
  type ScriptedSummarizer,
  scriptedSummarizer,
} from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50, summaryTokensMax: 60 };
/** For so long a process that lives keeps a claim that it does not renew. */
const SLOW_MS_MAX = 600_000;
const NONE = { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };

/** One file, whoever has it open, and the time. */
class Place {
  readonly path = temporaryPath();
  nowMs = 1_700_000_000_000;

  open(...script: Behavior[]): { store: Store; session: Session; summarizer: ScriptedSummarizer } {
    const summarizer = costing(scriptedSummarizer(...script), { inputTokens: 100, outputTokens: 10, costUsd: 0.5 });
    const store = openedStore(this.path, { summarizer, clock: () => this.nowMs });
    return { store, session: store.session("s", SETTINGS), summarizer };
  }
}

/** A store of which a summary is under way, and the place where it is. */
async function underWay(script: Behavior[], options?: Parameters<Session["resolveDirty"]>[0]) {
  const place = new Place();
  const mary = place.open(...script);
  mary.session.append(talk(40, 100));
  const resolving = mary.session.resolveDirty(options);
  await mary.summarizer.waiting();
  return { place, mary, resolving };
}

const rowsOf = (store: Store): unknown[] =>
  store
    .query("SELECT status, stands_in FROM summaries ORDER BY id")
    .map(({ status, stands_in: standsIn }) => (standsIn === 1 ? "stand-in" : status));

afterEach(() => {
  vi.useRealTimers();
});

describe("while one store is at a summary, another", () => {
  test("leaves it alone", async () => {
    const { place, mary, resolving } = await underWay(["slow"]);
    expect(rowsOf(mary.store)).toEqual(["claimed"]);

    const john = place.open("good");
    expect(await john.session.resolveDirty()).toEqual({ ...NONE, deferred: 1 });
    expect(john.summarizer.requests).toEqual([]);
    expect(rowsOf(john.store)).toEqual(["claimed"]);
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, resolved: 1 });
    expect(rowsOf(john.store)).toEqual(["done"]);
    john.session.compact();
    expect(john.session.roots()[0]!.summaries.map(({ summarizerId }) => summarizerId)).toEqual(["scripted"]);
  });

  test("records it although its theme was absorbed meanwhile, and nobody pays for it again", async () => {
    const place = new Place();
    const mary = place.open("slow", "good");
    mary.store.session("s", { maxThemes: 3 }).append(talk(28));
    mary.session.compact();
    const resolving = mary.session.resolveDirty({ concurrency: 1 });
    await mary.summarizer.waiting();
    const john = place.open("good");
    john.store.session("s", { maxThemes: 1 }).append(talk(12, 100));
    expect(john.session.roots()).toHaveLength(1);
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, resolved: 3 });
    const read = mary.summarizer.requests.flatMap(({ sources }) => sources.map(({ seq }) => seq));
    john.session.compact();
    await john.session.resolveDirty();
    const readLater = john.summarizer.requests.flatMap(({ sources }) => sources.map(({ seq }) => seq));
    expect(new Set([...read, ...readLater]).size).toBe(read.length + readLater.length);
  });

  test("takes it over if the claim has not been renewed for long; what comes then is not kept, but what it cost", async () => {
    const { place, mary, resolving } = await underWay(["slow"]);
    place.nowMs += 44_000;
    const john = place.open("good");
    expect(await john.session.resolveDirty()).toEqual({ ...NONE, deferred: 1 });
    place.nowMs += SLOW_MS_MAX;
    expect(await john.session.resolveDirty()).toEqual({ ...NONE, deferred: 1 });
    place.nowMs += 2_000;
    expect(await john.session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, stale: 1 });
    expect(rowsOf(john.store)).toEqual(["done"]);
    expect(
      john.store.query("SELECT session_id, summarizer_id, input_tokens, output_tokens, cost_usd FROM discarded_costs"),
    ).toEqual([{ session_id: "s", summarizer_id: "scripted", input_tokens: 100, output_tokens: 10, cost_usd: 0.5 }]);
    expect(john.store.stats()).toMatchObject({ summaryInputTokens: 200, summaryOutputTokens: 20, summaryCostUsd: 1 });
  });

  test("keeps what comes late where nobody else has it", async () => {
    const { place, mary, resolving } = await underWay(["slow"]);
    place.nowMs += SLOW_MS_MAX + 60_000;
    const john = place.open("fail");
    expect(await john.session.resolveDirty()).toMatchObject({ ...NONE, failed: 1 });
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, resolved: 1 });
    expect(rowsOf(john.store)).toEqual(["done"]);
  });

  test("may have the forest grown anew: what comes then is of the old one and not kept, but what it cost", async () => {
    const events: ResolveEvent[] = [];
    const { mary, resolving } = await underWay(["slow", "good"], { onEvent: (event) => void events.push(event) });
    await mary.store.reembed({ embedder: renamedEmbedder });
    expect(rowsOf(mary.store)).toEqual([]);
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, stale: 1 });
    expect(events.at(-1)).toMatchObject({ kind: "resolved", isStale: true, costUsd: 0.5 });
    expect(rowsOf(mary.store)).toEqual([]);
    expect(mary.store.stats()).toMatchObject({ summaryInputTokens: 100, summaryOutputTokens: 10, summaryCostUsd: 0.5 });
    expect(await mary.session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
    expect(mary.store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  });

  test("waits for a live one however long it takes", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { place, mary, resolving } = await underWay(["slow"]);
    const john = place.open("good");
    for (let minute = 0; minute < 6; minute++) {
      place.nowMs += 15_000;
      vi.advanceTimersByTime(15_000);
      expect(await john.session.resolveDirty()).toEqual({ ...NONE, deferred: 1 });
    }
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, resolved: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("takes it over at once if the process is dead", async () => {
    const { place, mary, resolving } = await underWay(["slow"]);
    const { pid } = spawnSync(process.execPath, ["--version"]);
    inSealed(place.path, (database) => {
      const claimant = database.prepare("SELECT claimant FROM summaries").pluck().get() as string;
      const dead = claimant.replace(` ${process.pid} `, ` ${pid} `);
      database.prepare("UPDATE summaries SET claimant = ?, checksum = -1").run(dead);
    });
    expect(await place.open("good").session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, stale: 1 });
  });

  test("is not held up by a claim of a time to come: somebody has set the clock back", async () => {
    const place = new Place();
    const mary = place.open("deaf");
    mary.session.append(talk(40, 100));
    const controller = new AbortController();
    const resolving = mary.session.resolveDirty({ signal: controller.signal });
    await mary.summarizer.waiting();
    place.nowMs -= 86_400_000;
    expect(await place.open("good").session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
    controller.abort();
    await expect(resolving).rejects.toThrow();
  });
});

describe("a claim that was lost", () => {
  test("keeps a request from being sent that had to wait", async () => {
    const place = new Place();
    let send = (): void => {};
    const sending = new Promise<void>((resolve) => {
      send = resolve;
    });
    const queue = vi.fn(() => sending);
    let sentCount = 0;
    const summarizer: Summarizer = {
      id: "scripted",
      promptVersion: 1,
      async summarize({ onSend }) {
        await queue();
        onSend!();
        sentCount += 1;
        return { title: "t", text: "." };
      },
    };
    const store = openedStore(place.path, { summarizer, clock: () => place.nowMs });
    store.session("s", SETTINGS).append(talk(40, 100));
    const events: ResolveEvent[] = [];
    const resolving = store.session("s").resolveDirty({ onEvent: (event) => void events.push(event) });
    await vi.waitFor(() => expect(queue).toHaveBeenCalledOnce());
    place.nowMs += SLOW_MS_MAX + 60_000;
    const john = place.open("slow");
    const taken = john.session.resolveDirty();
    await john.summarizer.waiting();
    send();
    expect(await resolving).toEqual({ ...NONE, deferred: 1 });
    expect(sentCount).toBe(0);
    expect(events.map(({ kind, reason }) => reason ?? kind)).toEqual(["started", "claimed"]);
    john.summarizer.release();
    expect(await taken).toEqual({ ...NONE, resolved: 1 });
  });

  test("keeps the rest of the requests of a summary from being sent", async () => {
    const place = new Place();
    const mary = place.open("slow", "good");
    mary.store.session("s", { strategy: "flat", contextTokensMax: 60_000 });
    mary.session.append(talk(40, 100).map(({ role, content }) => ({ role, content: `${content} `.repeat(60) })));
    const resolving = mary.session.resolveDirty();
    await mary.summarizer.waiting();
    place.nowMs += SLOW_MS_MAX + 60_000;
    const john = place.open("good");
    expect(await john.session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
    expect(john.summarizer.requests.length).toBeGreaterThan(1);
    mary.summarizer.release();
    expect(await resolving).toEqual({ ...NONE, deferred: 1 });
    expect(mary.summarizer.requests).toHaveLength(1);
    expect(john.store.query("SELECT sum(cost_usd) AS usd FROM discarded_costs")).toEqual([{ usd: 0.5 }]);
  });
});

describe("a claim", () => {
  test.each(["aborted", "closed"])("is gone, with nothing else, when the work is %s", async (how) => {
    const place = new Place();
    const { store, session, summarizer } = place.open("deaf");
    store.session("s", { maxThemes: 3 }).append(talk(28));
    session.compact();
    const controller = new AbortController();
    const resolving = session.resolveDirty({ signal: controller.signal });
    await summarizer.waiting();
    expect(rowsOf(store)).toEqual(["claimed", "claimed", "claimed"]);
    if (how === "closed") store.close();
    else controller.abort(new Error("enough"));
    const count = inDatabase(place.path, (database) =>
      database.prepare("SELECT count(*) FROM summaries").pluck().get(),
    );
    expect(count).toBe(0);
    await expect(resolving).rejects.toThrow(how === "closed" ? "is closed" : "enough");
  });

  test("goes when messages are forgotten, and what was made of them is not kept", async () => {
    const { mary, resolving } = await underWay(["slow", "good"]);
    const { store, session, summarizer } = mary;
    store.forget("s", { messageIds: [3] });
    expect(rowsOf(store)).toEqual([]);
    summarizer.release();
    expect(await resolving).toEqual({ ...NONE, stale: 1 });
    expect(rowsOf(store)).toEqual([]);
    expect(store.stats()).toMatchObject({ summaryCount: 0, summaryCostUsd: 0.5 });
    expect(await session.resolveDirty()).toEqual({ ...NONE, resolved: 1 });
  });

  test("is of no session that was forgotten", async () => {
    const { mary, resolving } = await underWay(["slow"]);
    const { store, summarizer } = mary;
    store.forget("s");
    summarizer.release();
    await expect(resolving).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(store.verify().ok).toBe(true);
  });

  test("is nothing that readers take for a summary", async () => {
    const { store, session, summarizer } = new Place().open("slow");
    session.append(talk(40, 100));
    const before = session.render();
    const resolving = session.resolveDirty();
    await summarizer.waiting();
    expect(session.render()).toEqual(before);
    expect(session.roots()[0]!.summaries).toEqual([]);
    expect(store.stats().summaryCount).toBe(0);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
    expect(store.query("SELECT summary_count, claimed_count FROM summary_costs")).toEqual([
      { summary_count: 0, claimed_count: 1 },
    ]);
    summarizer.release();
    await resolving;
  });
});
