import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ResolveEvent, Session, Store } from "../../../src/index.ts";
import { Background } from "../../../src/session/background.ts";
import { expectAtOnce } from "../../support/at-once.ts";
import { talk } from "../../support/said.ts";
import { away, scriptedEmbedder } from "../../support/scripted-embedder.ts";
import { type Behavior, type ScriptedSummarizer, scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50, summaryTokensMax: 60 };

function opened(...script: Behavior[]): { store: Store; session: Session; summarizer: ScriptedSummarizer } {
  const summarizer = scriptedSummarizer(...script);
  const store = temporaryStore({ summarizer, clock: Date.now });
  return { store, session: store.session("s", SETTINGS), summarizer };
}

/** Until it holds, for two seconds at most. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds() && tries < 200; tries++) await sleep(10);
  expect(holds()).toBe(true);
}

function summariesOf(session: Session): number {
  return session.roots().reduce((count, { summaries }) => count + summaries.length, 0);
}

describe("startResolving", () => {
  test("resolves what is there, and what is appended later", async () => {
    const { session, summarizer } = opened("good");
    session.append(talk(40, 100));
    const resolving = session.startResolving();
    await until(() => summariesOf(session) === 1);
    session.append(talk(60, 100));
    session.append(talk(60, 100));
    await until(() => summariesOf(session) > 2);
    const { length } = summarizer.requests;
    await resolving.stop();
    session.append(talk(60, 100));
    await sleep(150);
    expect(summarizer.requests.length).toBe(length);
  });

  test("tries again by itself when what failed may be tried again", async () => {
    const { session, summarizer } = opened("fail", "good");
    session.append(talk(40, 100));
    const events: ResolveEvent[] = [];
    const resolving = session.startResolving({ onEvent: (event) => void events.push(event) });
    await until(() => events.some(({ kind }) => kind === "resolved"));
    expect(events.map(({ kind }) => kind)).toEqual(["started", "failed", "started", "resolved"]);
    expect(summarizer.requests.length).toBe(2);
    await resolving.stop();
  });

  test("looks again when what it has read is not what is there any more", async () => {
    const { session, store, summarizer } = opened("slow", "good");
    const [first] = session.append(talk(40, 100));
    const resolving = session.startResolving();
    await summarizer.waiting();
    store.forget("s", { messageIds: [first!.messageId] });
    summarizer.release();
    await until(() => summariesOf(session) === 1);
    expect(summarizer.requests.length).toBe(2);
    await resolving.stop();
  });

  test("asks again by itself for vectors that did not come", async () => {
    const embedder = scriptedEmbedder();
    embedder.before = () => {
      if (embedder.requests.length === 1) throw away();
    };
    const store = temporaryStore({ embedder }); // its clock runs ahead, and has come to the next try before the run is over
    const session = store.session("s", SETTINGS);
    session.append(talk(4, 100));
    const resolving = session.startResolving();
    await until(() => store.stats().pendingVectorCount === 0);
    expect(embedder.requests.length).toBe(2);
    await resolving.stop();
  });

  test("does nothing while there is nothing to do", async () => {
    const { session, store, summarizer } = opened("good");
    const resolving = session.startResolving();
    await sleep(20);
    const before = store.query("SELECT count(*) AS n FROM summaries");
    await sleep(200);
    expect(summarizer.requests).toEqual([]);
    expect(store.query("SELECT count(*) AS n FROM summaries")).toEqual(before);
    await resolving.stop();
  });

  test("gives up what is under way when it is stopped, and leaves no claim", async () => {
    const { session, store, summarizer } = opened("deaf");
    session.append(talk(40, 100));
    const resolving = session.startResolving();
    await summarizer.waiting();
    await expectAtOnce(resolving.stop());
    expect(store.query("SELECT count(*) AS n FROM summaries")).toEqual([{ n: 0 }]);
    await resolving.stop();
  });

  test("ends with the store", async () => {
    const { session, store, summarizer } = opened("hang");
    session.append(talk(40, 100));
    const resolving = session.startResolving();
    await summarizer.waiting();
    store.close();
    await resolving.stop();
    expect(() => session.startResolving()).toThrow("is closed");
  });

  test("started again goes on with the new options alone", async () => {
    const { session, summarizer } = opened("hang", "good");
    session.append(talk(40, 100));
    const told: string[] = [];
    const first = session.startResolving({ onEvent: ({ kind }) => void told.push(`first ${kind}`) });
    await summarizer.waiting();
    const second = session.startResolving({ onEvent: ({ kind }) => void told.push(`second ${kind}`) });
    await until(() => told.includes("second resolved"));
    expect(told).toEqual(["first started", "second started", "second resolved"]);
    await first.stop();
    await second[Symbol.asyncDispose]();
  });

  test("keeps its limits over all its runs", async () => {
    const { session, summarizer } = opened("good");
    session.append(talk(40, 100));
    const resolving = session.startResolving({ callsMax: 1 });
    await until(() => summariesOf(session) === 1);
    session.append(talk(60, 100));
    await sleep(200);
    expect(summarizer.requests.length).toBe(1);
    await resolving.stop();
  });

  test("takes turns with resolveDirty: nothing is asked for twice", async () => {
    const { session, summarizer } = opened("good");
    session.append(talk(40, 100));
    const resolving = session.startResolving();
    await Promise.all([session.resolveDirty(), session.resolveDirty()]);
    await until(() => summariesOf(session) === 1);
    expect(summarizer.requests.length).toBe(1);
    await resolving.stop();
  });

  test("is refused where nothing may be written, and with options that it does not have", () => {
    const { store, session } = opened("good");
    const reader = openedStore(store.path, { readonly: true }).resume("s");
    expect(() => reader.startResolving()).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
    expect(() => session.startResolving({ signal: 1 } as object)).toThrow("an option of startResolving");
  });
});

test("a run never begins before the time of the next try", async () => {
  const early: number[] = [];
  const works = Array.from({ length: 100 }, (_, index) => {
    let dueMs = 0;
    return new Background(new AbortController().signal, Date.now, async () => {
      if (Date.now() < dueMs) early.push(index);
      dueMs = Date.now() + 51 + index;
      return dueMs;
    });
  });
  await sleep(600);
  await Promise.all(works.map((work) => work.stop()));
  expect(early).toEqual([]);
});
