import { describe, expect, test, vi } from "vitest";
import {
  type MessageInput,
  type Session,
  type Store,
  StoreError,
  type Summarizer,
  type SummaryText,
} from "../../../src/index.ts";
import { UnionRepository } from "../../../src/store/derived/unions.ts";
import { claimFaults } from "../../support/claims.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 3, resolveTokensMin: 50, summaryTokensMax: 60 };

/** A summarizer whose lines cite their sources, and the seqs of each of its calls. */
function citing(answer: (seqs: number[]) => SummaryText = said): Summarizer & { calls: number[][] } {
  const calls: number[][] = [];
  return {
    id: "citing",
    promptVersion: 1,
    citesSources: true,
    calls,
    summarize: async ({ sources, previous, onUsage }) => {
      expect(previous).toEqual([]);
      const seqs = sources.map(({ seq }) => seq);
      calls.push(seqs);
      onUsage?.({ inputTokens: 100, outputTokens: 10 });
      return answer(seqs);
    },
  };
}

function said(seqs: number[]): SummaryText {
  const lines = seqs.filter((seq) => seq % 3 === 0).map((seq) => `About ${seq}. [${seq}]`);
  return { title: "All of it", text: lines.join("\n") };
}

/** A request and calls with short results: one cluster. */
function work(callCount: number): MessageInput[] {
  const called = Array.from({ length: callCount }, (_, call) => [calls([`c${call}`]), results([`c${call}`], "ok")]);
  return [user("Release the stale lock of a session"), ...called.flat()];
}

function opened(summarizer: Summarizer, settings: object = {}): { store: Store; session: Session } {
  const store = temporaryStore({ summarizer, clock: () => 1_700_000_000_000 });
  return { store, session: store.session("s", { ...SETTINGS, ...settings }) };
}

describe("clusters that are due", () => {
  test("share a call, and each gets what cites its messages", async () => {
    const summarizer = citing();
    const { store, session } = opened(summarizer);
    session.append(talk(28));
    session.compact();
    expect(await session.resolveDirty()).toEqual({ resolved: 3, failed: 0, stale: 0, parked: 0, deferred: 0 });
    expect(summarizer.calls).toEqual([Array.from({ length: 24 }, (_, seq) => seq)]);
    const rows = store.query("SELECT level, seq_first, seq_last, text, input_tokens FROM summaries ORDER BY seq_first");
    expect(rows.map(({ level, text }) => [level, text])).toEqual([
      ["cluster", "About 0. [0]\nAbout 3. [3]\nAbout 6. [6]\nAbout 9. [9]"],
      ["cluster", "About 12. [12]\nAbout 15. [15]"],
      ["cluster", "About 18. [18]\nAbout 21. [21]"],
    ]);
    expect(store.stats().summaryInputTokens).toBe(100);
    session.compact();
    const shown = session.render({ tokensMax: 4_000 });
    expect(shown.sources.filter(({ how }) => how === "summary")).toHaveLength(3);
    expect(JSON.stringify(shown.messages[0])).toContain("About 21. [21]");
    expect(claimFaults(store, session, shown)).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("cost a matter of any size in proportion to it, also to forget one message and to take an undone part back", async () => {
    const rowsReadFor = async (callCount: number): Promise<Record<string, number>> => {
      const { store, session } = opened(citing());
      const ids = session.append(work(callCount)).map(({ messageId }) => messageId);
      session.compact();
      let rows = 0;
      const counted = (["entriesOf", "stepsOf"] as const).map((name) => {
        const read = UnionRepository.prototype[name] as (...args: unknown[]) => unknown[];
        return vi.spyOn(UnionRepository.prototype, name).mockImplementation(function (
          this: unknown,
          ...args: unknown[]
        ) {
          const found = read.apply(this, args);
          rows += found.length;
          return found as never;
        });
      });
      const readBy = async (act: () => unknown): Promise<number> => {
        rows = 0;
        await act();
        return rows;
      };
      const resolve = await readBy(() => session.resolveDirty());
      const undo = await readBy(() => {
        session.rewind({ toMessageId: ids[10]! });
        session.undo();
      });
      const forget = await readBy(() => {
        expect(store.forget("s", { messageIds: [ids.at(-40)!] }).messageCount).toBeGreaterThan(0);
      });
      for (const spy of counted) spy.mockRestore();
      return { resolve, undo, forget };
    };
    const [small, large] = [await rowsReadFor(160), await rowsReadFor(640)];
    for (const [what, rows] of Object.entries(large)) {
      expect(rows, `${what}: ${small[what]} and ${rows}`).toBeLessThan(6 * Math.max(small[what]!, 100));
    }
  });

  test("have several summaries in order if they are large, each of its own messages, under one root", async () => {
    const summarizer = citing();
    const { store, session } = opened(summarizer);
    session.append(user("Release the stale lock of a session"));
    for (let call = 0; call < 90; call++)
      session.append([calls([`c${call}`]), results([`c${call}`], `lock ${call} of the harbour`)]);
    session.compact();
    const [matter, ...others] = session.roots({ level: "cluster" });
    expect(others).toEqual([]);
    expect(matter).toMatchObject({ messageCount: 177, label: "Release the stale lock of a session" });
    expect(await session.resolveDirty()).toMatchObject({ resolved: 3, failed: 0, deferred: 0 });
    const rows = store.query("SELECT seq_first, seq_last FROM summaries ORDER BY seq_first");
    expect(rows.map(({ seq_first, seq_last }) => [seq_first, seq_last])).toEqual([
      [0, 64],
      [65, 128],
      [129, 176],
    ]);
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0 });
    const page = store.expand(matter!.root, { limit: 50, offset: 150 });
    expect(page).toMatchObject({ memberCount: 177, offset: 150 });
    expect(page.members).toHaveLength(27);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test.each([true, false])(
    "are summarized to the end if 64 short messages are not worth a call (shared calls: %s)",
    async (shares) => {
      const { citesSources: _, ...plain } = citing();
      const summarizer = shares ? citing() : plain;
      const { store, session } = opened(summarizer, { resolveTokensMin: 4_000 });
      session.append(work(500));
      session.compact();
      expect(await session.resolveDirty()).toMatchObject({ failed: 0, parked: 0 });
      const covered = store.query("SELECT max(seq_last) AS last FROM summaries WHERE status = 'done'")[0]!;
      expect(covered.last).toBeGreaterThan(500);
    },
  );

  test("are summarized to the end although the summary of the first part is refused", async () => {
    const summarizer = citing((seqs) => {
      if (seqs.length > 70) return { title: "T", text: `One thing. [${seqs[0]}]` };
      throw new StoreError("MODEL_REFUSED", { model: "m", reason: "it does not like it" });
    });
    const { store, session } = opened(summarizer);
    session.append(work(120));
    session.compact();
    for (let run = 0; run < 3; run++) await session.resolveDirty();
    const done = store.query("SELECT seq_first, seq_last FROM summaries WHERE status = 'done'");
    expect(done).toEqual([{ seq_first: 0, seq_last: 130 }]);
  });

  test("are not tried with a refused part again if the service fails in a longer one", async () => {
    let nowMs = 1_700_000_000_000;
    const summarizer = citing((seqs) => {
      const failure = { model: "m", reason: "it is not there" };
      throw new StoreError(seqs.length > 70 ? "MODEL_UNAVAILABLE" : "MODEL_REFUSED", failure);
    });
    const store = temporaryStore({ summarizer, clock: () => nowMs });
    const session = store.session("s", SETTINGS);
    session.append(work(120));
    session.compact();
    for (let run = 0; run < 4; run++) {
      await session.resolveDirty();
      nowMs += 3_600_000;
    }
    expect(summarizer.calls.map(({ length }) => length)).toEqual([65, 131, 131, 131]);
  });

  test("are asked for only a few times, each twice as long, if every answer is a refusal", async () => {
    const summarizer = citing(() => {
      throw new StoreError("MODEL_REFUSED", { model: "m", reason: "it does not like it" });
    });
    const { session } = opened(summarizer);
    session.append(work(150));
    session.compact();
    for (let run = 0; run < 8; run++) await session.resolveDirty();
    expect(summarizer.calls.map(({ length }) => length)).toEqual([65, 131, 263]);
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0, parked: 1 });
  });

  test("wait until a call is worth it", async () => {
    const summarizer = citing((seqs) => said(seqs.filter((seq) => seq % 2 === 0)));
    const { session } = opened(summarizer, { resolveTokensMin: 900 });
    session.append(talk(16, 100));
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0 });
    session.append(talk(16, 100));
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 1 });
  });

  test("are tried alone if the model has refused them together, so that one of them harms no other", async () => {
    const refuses = (seqs: number[]): boolean => seqs.includes(13);
    const summarizer = citing((seqs) => {
      if (!refuses(seqs)) return said(seqs);
      throw new StoreError("MODEL_REFUSED", { model: "m", reason: "it does not like it" });
    });
    const { session } = opened(summarizer);
    session.append(talk(28));
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ failed: 3 });
    expect(await session.resolveDirty()).toMatchObject({ resolved: 2, parked: 1 });
    expect(summarizer.calls).toHaveLength(4);
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0, parked: 1 });
    expect(summarizer.calls).toHaveLength(4);
  });

  test("of which nothing is said count as read, and their messages are named", async () => {
    const summarizer = citing((seqs) => ({ title: "T", text: `One thing. [${seqs[0]}]` }));
    const { store, session } = opened(summarizer);
    session.append(talk(28));
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 3 });
    session.compact();
    expect(await session.resolveDirty()).toMatchObject({ resolved: 0 });
    expect(summarizer.calls).toHaveLength(1);
    const shown = session.render({ tokensMax: 4_000 });
    expect(shown.sources.filter(({ how }) => how === "summary")).toHaveLength(1);
    expect(claimFaults(store, session, shown)).toEqual([]);
  });
});

test("a shared reply without usable citations is a failure, after which each cluster is tried alone", async () => {
  let nowMs = 1_700_000_000_000;
  const summarizer = citing(() => ({ title: "T", text: "Nobody is cited." }));
  const store = temporaryStore({ summarizer, clock: () => nowMs });
  const session = store.session("s", SETTINGS);
  session.append(talk(28));
  session.compact();
  expect(await session.resolveDirty()).toMatchObject({ resolved: 0, failed: 3 });
  const rows = store.query("SELECT DISTINCT status, error_code FROM summaries");
  expect(rows).toEqual([{ status: "failed", error_code: "MODEL_ANSWER_INVALID" }]);
  nowMs += 60_000;
  expect(await session.resolveDirty()).toMatchObject({ resolved: 3, failed: 0 });
  expect(summarizer.calls).toHaveLength(4);
});

test("no summary holds what was said of a message of another cluster that is forgotten", async () => {
  const summarizer = citing((seqs) => {
    const { title, text } = said(seqs);
    return { title, text: `${text}\nThe token is canary. [0,12,13]` };
  });
  const { store, session } = opened(summarizer);
  const [first] = session.append(talk(28));
  session.compact();
  expect(await session.resolveDirty()).toMatchObject({ resolved: 3 });
  expect(
    store
      .query("SELECT text FROM summaries")
      .map(({ text }) => text)
      .join("\n"),
  ).toContain("canary");
  store.forget("s", { messageIds: [first!.messageId] });
  expect(store.query("SELECT text FROM summaries")).toEqual([{ text: "About 18. [18]\nAbout 21. [21]" }]);
});

test("nothing of a shared reply is kept if a message is forgotten while the model writes it", async () => {
  let forget = (): void => {};
  const summarizer = citing((seqs) => {
    forget();
    return { title: "T", text: `The token is canary. [0,${seqs.at(-1)}]` };
  });
  const { store, session } = opened(summarizer);
  const [first] = session.append(talk(28));
  session.compact();
  forget = () => void store.forget("s", { messageIds: [first!.messageId] });
  expect(await session.resolveDirty()).toMatchObject({ resolved: 0, stale: 3 });
  expect(store.query("SELECT status, text FROM summaries WHERE status = 'done'")).toEqual([]);
  expect(store.stats().summaryInputTokens).toBe(100);
});

test("no message is read twice, whatever unites, grows and settles", async () => {
  const summarizer = citing();
  const { store, session } = opened(summarizer, { maxThemes: 2, openClustersMax: 2 });
  for (let round = 0; round < 12; round++) {
    session.append(talk(9, 3));
    await session.resolveDirty();
    const shown = session.render({ tokensMax: 3_000 });
    expect(claimFaults(store, session, shown)).toEqual([]);
  }
  const unites = store.query("SELECT count(*) AS n FROM unions WHERE kind = 'unite'")[0]!.n;
  expect(unites).toBeGreaterThan(0);
  const read = summarizer.calls.flat();
  expect(new Set(read).size).toBe(read.length);
  expect(read.length).toBeGreaterThan(70);
});
