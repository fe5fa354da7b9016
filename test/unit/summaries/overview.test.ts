import { describe, expect, test } from "vitest";
import { summarizeSessions } from "../../../src/imports/summarize-sessions.ts";
import type { Session, Store, SummarizeRequest, Summarizer } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { runs } from "../../support/acts.ts";
import { claimFaults } from "../../support/claims.ts";
import { assistant, talk, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, resolveTokensMin: 500, summaryTokensMax: 100_000 };

/** Writes a statement about each message, and of statements an overview that tells how many calls of it there were. */
function writer(): Summarizer & { overviews: SummarizeRequest["previous"][] } {
  const overviews: SummarizeRequest["previous"][] = [];
  return {
    id: "writer",
    promptVersion: 1,
    citesSources: true,
    overviews,
    summarize: async ({ previous, sources, tokensMax, countTokens }) => {
      const lines = sources.map(({ seq, text }) => `Said ${text.slice(0, 40)}. [${seq}]`);
      if (sources.length === 0) {
        overviews.push(previous);
        lines.push(`Overview ${overviews.length}. [0]`);
      }
      while (countTokens(lines.join("\n")) > tokensMax) lines.pop();
      return { title: "T", text: lines.join("\n") };
    },
  };
}

/** Appends, and makes and shows what is due. */
async function go(session: Session, count: number): Promise<void> {
  session.append(talk(count));
  session.compact();
  await session.resolveDirty();
  await session.resolveDirty();
  session.compact();
}

function overviewIn(session: Session): string | undefined {
  const text = JSON.stringify(session.render({ tokensMax: 4_000 }).messages);
  return /<overview.*?<\/overview>/.exec(text)?.[0];
}

function opened(): { store: Store; session: Session; summarizer: ReturnType<typeof writer> } {
  const summarizer = writer();
  const store = temporaryStore({ summarizer });
  return { store, session: store.session("s", SETTINGS), summarizer };
}

const rowsOf = (store: Store) =>
  store.query(
    "SELECT seq_last AS seqLast, text, shown_until IS NULL AS stands FROM summaries WHERE level = 'overview'",
  );

test("where statements say what was asked, the story tells only what the user asked to be kept", async () => {
  const { session } = opened();
  const plain = temporaryStore().session("s", SETTINGS);
  for (const one of [session, plain]) {
    one.append({ role: "user", content: "Please remember that the port of staging is 4417." });
    await go(one, 60);
  }
  const [told, untold] = [session, plain].map((one) => JSON.stringify(one.render({ tokensMax: 2_000 }).messages));
  expect(told).toContain("the port of staging is 4417. [0]");
  expect(told).not.toMatch(/\d user: /);
  expect(untold).toContain("the port of staging is 4417. [0]");
  expect(untold).toMatch(/\d user: /);
});

describe("the overview of a session", () => {
  test("is made of the last one and the statements since, once there are enough of them", async () => {
    const { store, session, summarizer } = opened();
    await go(session, 30);
    expect(summarizer.overviews).toEqual([]);
    await go(session, 60);
    expect(summarizer.overviews).toHaveLength(1);
    // Each summary is a text of its own: a longer one than a prompt takes would lose its middle.
    expect(summarizer.overviews[0]!.length).toBeGreaterThan(1);
    await go(session, 90);
    expect(summarizer.overviews).toHaveLength(2);
    const [last, ...since] = summarizer.overviews[1]!;
    expect(last!.text).toBe("Overview 1. [0]");
    const read = since.flatMap(({ text }) => text.split("\n")).map((line) => Number(/\[(\d+)\]$/.exec(line)![1]));
    const first = rowsOf(store)[0]!.seqLast as number;
    expect(Math.max(...read)).toBeGreaterThan(first);
    expect(read.filter((seq) => seq > first).length).toBeGreaterThan(40);
    const context = session.render({ tokensMax: 4_000 });
    expect(claimFaults(store, session, context)).toEqual([]);
    expect(overviewIn(session)).toContain("Overview 2.");
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("is shown from the next move of the frontier on, and no other is made before", async () => {
    const { session, summarizer } = opened();
    session.append(talk(90));
    session.compact();
    await session.resolveDirty();
    await session.resolveDirty();
    expect(summarizer.overviews).toHaveLength(1);
    const before = session.render({ tokensMax: 4_000 });
    expect(overviewIn(session)).toBeUndefined();
    expect(session.compact()).toEqual({ compacted: true });
    expect(session.render({ tokensMax: 4_000 }).messages).not.toEqual(before.messages);
    expect(overviewIn(session)).toContain("Overview 1. [0]");
  });

  test("leads to its messages", async () => {
    const { store, session } = opened();
    await go(session, 90);
    const [, handle] = /handle=\\"([^"\\]+)/.exec(overviewIn(session)!)!;
    const { memberCount } = store.expand(handle!);
    expect(memberCount).toBe((rowsOf(store)[0]!.seqLast as number) + 1);
  });

  test("goes with any message that it may tell of", async () => {
    const { store, session, summarizer } = opened();
    await go(session, 90);
    const [, second] = session.messages();
    store.forget("s", { messageIds: [second!.id] });
    expect(rowsOf(store)).toEqual([]);
    expect(overviewIn(session)).toBeUndefined();
    await go(session, 12);
    expect(summarizer.overviews).toHaveLength(2);
    expect(overviewIn(session)).toContain("Overview 2.");
  });

  test("leaves when the session goes back before its end, and comes back with it", async () => {
    const { store, session } = opened();
    await go(session, 90);
    await go(session, 90);
    expect(overviewIn(session)).toContain("Overview 2.");
    const [first] = rowsOf(store);
    session.rewind({ toSeq: (first!.seqLast as number) + 10 });
    expect(rowsOf(store).map(({ stands }) => stands)).toEqual([1, 0]);
    session.compact();
    expect(overviewIn(session)).toContain("Overview 1.");
    session.undo();
    expect(rowsOf(store).map(({ stands }) => stands)).toEqual([1, 1]);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("is made again for a fork, of the statements that it shares", async () => {
    const { store, session, summarizer } = opened();
    await go(session, 90);
    const fork = session.fork();
    expect(overviewIn(fork)).toBeUndefined();
    await go(fork, 12);
    expect(overviewIn(fork)).toContain("Overview 2.");
    expect(summarizer.overviews[1]!.map(({ text }) => text)).not.toContain("Overview 1. [0]");
    expect(overviewIn(session)).toContain("Overview 1.");
    expect(store.verify()).toMatchObject({ ok: true });
  });
});

describe("the overview of work with tools", () => {
  const OVERVIEW = ["Friday", "Monday", "June", "July", "noon", "dusk", "winter", "spring"]
    .map((time) => `The harbor office wants tide tables, and the pier stays closed until ${time}. [0-3]`)
    .join("\n");

  /** Writes an overview of what it gets with room for one, and refuses all else. */
  function overviewer(): Summarizer & { asked: SummarizeRequest[] } {
    const asked: SummarizeRequest[] = [];
    return {
      id: "overviewer",
      promptVersion: 1,
      citesSources: true,
      asked,
      summarize: async (request) => {
        if (request.tokensMax !== 900) throw new Error("only overviews");
        asked.push(request);
        return { title: "T", text: OVERVIEW };
      },
    };
  }

  /** So many tokens of work, most of which a tool printed. */
  function work(session: Session, tokens: number): void {
    for (let count = 0; count < tokens; count += 1_000) {
      const { messageCount } = session.info();
      session.append([
        user(`Please change the tide table number ${messageCount}, and keep the pier closed.`),
        ...runs("make tables", `row of printed figures ${messageCount} `.repeat(200)),
        assistant(`The cause of fault ${messageCount} was a missing buoy, so I decided to add the buoy to the chart.`),
      ]);
    }
    session.compact();
  }

  test("is made of the sentences of the story, before anything else, and again when much is new", async () => {
    const summarizer = overviewer();
    const session = temporaryStore({ summarizer }).session("s", { hotSize: 4, overlap: 0, evictBatch: 2 });
    work(session, 10_000);
    await session.resolveDirty();
    expect(summarizer.asked).toHaveLength(0);
    work(session, 8_000);
    const order: string[] = [];
    await session.resolveDirty({ onEvent: ({ kind, handle }) => void order.push(`${kind} ${handle.split(":")[0]}`) });
    expect(order[0]).toBe("started span");
    const [{ sources, previous }] = summarizer.asked as [SummarizeRequest];
    expect(previous).toEqual([]);
    expect(sources.find(({ role }) => role === "user")!.text).toContain("keep the pier closed");
    expect(sources.find(({ role }) => role === "assistant")!.text).toContain("missing buoy");
    expect(sources.some(({ text }) => text.includes("printed figures"))).toBe(false);
    work(session, 4_000);
    await session.resolveDirty();
    expect(summarizer.asked).toHaveLength(1);
    work(session, 16_000);
    await session.resolveDirty();
    expect(summarizer.asked).toHaveLength(2);
    expect(summarizer.asked[1]!.previous.map(({ text }) => text)).toEqual([OVERVIEW]);
  });

  test("is all that an import pays a model for, because contexts of work show hardly anything else of it", async () => {
    const summarizer = overviewer();
    const store = temporaryStore({ summarizer });
    const session = store.session("s", { hotSize: 4, overlap: 0, evictBatch: 2 });
    work(session, 20_000);
    const counts = await summarizeSessions(internalsOf(store), ["s"], {});
    expect(counts).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(overviewIn(session)).toContain("the pier stays closed until spring. [0-3]");
    const { resolved, failed } = await session.resolveDirty();
    expect(resolved + failed).toBeGreaterThan(0);
  });

  test("is shown whole with the story, if it leaves the story room", async () => {
    const store = temporaryStore({ summarizer: overviewer() });
    const session = store.session("s", { hotSize: 4, overlap: 0, evictBatch: 2 });
    work(session, 20_000);
    await session.resolveDirty();
    work(session, 1_000);
    const context = session.render({ tokensMax: 2_000 });
    expect(overviewIn(session)).toContain("the pier stays closed until spring. [0-3]");
    expect(JSON.stringify(context.messages)).toMatch(/<story>.*missing buoy/);
    expect(claimFaults(store, session, context)).toEqual([]);
    const small = JSON.stringify(session.render({ tokensMax: 400 }).messages);
    expect(small).toMatch(/<story>.*missing buoy/);
    expect(small).not.toContain("stays closed until");
  });
});
