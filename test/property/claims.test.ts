import fc from "fast-check";
import { expect, test } from "vitest";
import "../support/seed.ts";
import type { Session, Store, SummarizeRequest, Summarizer } from "../../src/index.ts";
import { claimFaults } from "../support/claims.ts";
import { expectSeen, runs, TESTS_ALL } from "../support/effort.ts";
import { talk } from "../support/said.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

const SETTINGS = { hotSize: 2, overlap: 0, evictBatch: 4, maxThemes: 2, resolveTokensMin: 20, summaryTokensMax: 60 };
/** A claim lasts 45 seconds, and ten minutes more while its process lives. */
const LEASE_MS = 645_000;
const STORES = 3;

/** A call that has not been answered. */
interface Call {
  seqs: number[];
  startedAtMs: number;
  /** A message of its clusters may have been forgotten: what is made of it is not kept. */
  isVoid: boolean;
  end(error?: Error): void;
}

/** Stores on one file in which time is what the test says, and models answer when the test says. */
class World {
  nowMs = 1_700_000_000_000;
  calls: Call[] = [];
  callCount = 0;
  overtakenCount = 0;
  faults: string[] = [];
  readonly stores: Store[];
  readonly #runs = new Set<{ run: Promise<unknown>; controller: AbortController }>();

  constructor(path: string) {
    this.stores = Array.from({ length: STORES }, () =>
      openFresh(path, { summarizer: this.#summarizer(), clock: () => this.nowMs }),
    );
  }

  session(store: number): Session {
    return this.stores[store]!.session("s", SETTINGS);
  }

  resolve(store: number): void {
    const controller = new AbortController();
    const run = this.session(store).resolveDirty({ signal: controller.signal, concurrency: 2 });
    const entry = { run, controller };
    this.#runs.add(entry);
    run.catch(() => {}).finally(() => this.#runs.delete(entry));
  }

  abort(which: number): void {
    [...this.#runs][which % Math.max(1, this.#runs.size)]?.controller.abort(new Error("enough"));
  }

  /** Whatever can happen without an answer has happened. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async settle(): Promise<void> {
    while (this.#runs.size > 0) {
      for (const call of this.calls) call.end();
      await this.quiet();
    }
  }

  #summarizer(): Summarizer {
    return {
      id: "asked",
      promptVersion: 1,
      summarize: (request) => {
        return new Promise((resolve, reject) => {
          const call: Call = {
            seqs: request.sources.map(({ seq }) => seq),
            startedAtMs: this.nowMs,
            isVoid: false,
            end: (error) => {
              this.calls = this.calls.filter((other) => other !== call);
              if (error === undefined) resolve({ title: "t", text: "." });
              else reject(error);
            },
          };
          this.#begin(call, request);
        });
      },
    };
  }

  #begin(call: Call, { signal }: SummarizeRequest): void {
    this.callCount += 1;
    for (const other of this.calls) {
      if (other.isVoid || !other.seqs.some((seq) => call.seqs.includes(seq))) continue;
      if (this.nowMs - other.startedAtMs < LEASE_MS) this.faults.push(`paid for ${call.seqs} while ${other.seqs} is`);
      else this.overtakenCount += 1;
    }
    this.calls.push(call);
    signal.addEventListener("abort", () => call.end(signal.reason as Error));
  }
}

type Step =
  | { do: "append"; store: number; count: number }
  | { do: "resolve" | "compact"; store: number }
  | { do: "answer" | "fail" | "abort"; which: number }
  | { do: "wait"; ms: number }
  | { do: "forget"; seq: number };

const store = fc.nat({ max: STORES - 1 });
const which = fc.nat({ max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("append" as const), store, count: fc.integer({ min: 1, max: 14 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("resolve" as const), store }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), store }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("answer" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("fail" as const, "abort" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(500, 50_000, 700_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const), seq: fc.nat({ max: 40 }) }) },
);

async function take(world: World, next: Step): Promise<void> {
  switch (next.do) {
    case "append":
      world.session(next.store).append(talk(next.count, 3));
      break;
    case "resolve":
      world.resolve(next.store);
      break;
    case "compact":
      world.session(next.store).compact();
      break;
    case "answer":
    case "fail":
      world.calls[next.which % Math.max(1, world.calls.length)]?.end(
        next.do === "fail" ? new Error("the line is dead") : undefined,
      );
      break;
    case "abort":
      world.abort(next.which);
      break;
    case "wait":
      world.nowMs += next.ms;
      break;
    case "forget": {
      const [message] = world.session(0).messages({ seqFrom: next.seq, limit: 1 });
      if (message === undefined) break;
      world.stores[0]!.forget("s", { messageIds: [message.id] });
      for (const call of world.calls) call.isVoid = true;
    }
  }
  await world.quiet();
}

/**
 * Goal: whatever stores do to one file at once, nobody pays for messages that another is being paid for, unless that one has
 * slept past its claim; no two summaries are of the same; and contexts explain every message.
 * Method: random steps of three stores with one clock, and a model that answers, fails or is aborted when the steps say so.
 */
test("random runs of several stores never pay for the same, and never keep two of the same", async () => {
  const seen = { calls: 0, overtaken: 0, done: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), (steps) =>
      inFolderAsync(async (folder) => {
        const world = new World(`${folder}/agent.db`);
        try {
          world.session(0).append(talk(16, 3));
          for (const next of steps) {
            await take(world, next);
            expect(world.faults).toEqual([]);
          }
          await world.settle();
          const [first] = world.stores;
          const count = (sql: string): number =>
            Number(Object.values(first!.query(`SELECT count(*) AS n FROM ${sql}`)[0]!)[0]);
          expect(count("summaries WHERE status = 'claimed'")).toBe(0);
          const doubles = `(SELECT 1 FROM summaries WHERE status = 'done' AND stands_in = 0 GROUP BY root_id, log_position HAVING count(*) > 1)`;
          expect(count(doubles)).toBe(0);
          expect(first!.verify()).toMatchObject({ ok: true, problemCount: 0 });
          for (const moved of [false, true]) {
            if (moved) world.session(0).compact();
            const session = world.session(0);
            expect(claimFaults(first!, session, session.render())).toEqual([]);
          }
          seen.calls += world.callCount;
          seen.overtaken += world.overtakenCount;
          seen.done += count("summaries WHERE status = 'done' AND stands_in = 0");
        } finally {
          for (const each of world.stores) each.close();
        }
      }),
    ),
    { numRuns: runs(20) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expectSeen(seen, { calls: 50, overtaken: 1, done: 30 });
}, 120_000);
