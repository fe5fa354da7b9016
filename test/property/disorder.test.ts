import fc from "fast-check";
import { expect, test } from "vitest";
import { type OpenOptions, openStore, type Store, StoreError } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { runs } from "../support/effort.ts";
import { inDatabase } from "../support/rows.ts";
import { calls, results, talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { inFolderAsync } from "../support/temporary-store.ts";

const SMALL = {
  hotSize: 3,
  overlap: 1,
  evictBatch: 3,
  maxThemes: 2,
  openClustersMax: 3,
  resolveTokensMin: 20,
} as const;
const SESSIONS = ["a", "b"] as const;

/** What is done with a store, out of order. `n` chooses among what there is. */
const CALLS: Record<string, (store: Store, n: number, disguise: Disguise) => unknown> = {
  append: (store, n, as) => sessionOf(store, n).append(as(user(`Deploy ${n} to the harbor region.`))),
  appendSeveral: (store, n, as) => sessionOf(store, n).append(as(talk(1 + (n % 5)))),
  appendTools: (store, n, as) => sessionOf(store, n).append([as(calls(["c"])), as(results(["c"], `done ${n}`))]),
  sync: (store, n, as) => sessionOf(store, n).sync(as(talk(2 + (n % 4)))),
  render: (store, n, as) => sessionOf(store, n).render(as({ tokensMax: 400 + n })),
  pressure: (store, n) => sessionOf(store, n).pressure(),
  compact: (store, n) => sessionOf(store, n).compact(),
  rewind: (store, n, as) => sessionOf(store, n).rewind(as({ toSeq: n % 7 })),
  undo: (store, n) => sessionOf(store, n).undo(),
  fork: (store, n) => sessionOf(store, n).fork(),
  rename: (store, n) => sessionOf(store, n).update({ title: `Title ${n}` }),
  tag: (store, n) => sessionOf(store, n).update({ addTags: [`tag${n % 3}`] }),
  pin: (store, n) => sessionOf(store, n).pin(1 + (n % 40)),
  put: (store, n, as) => store.items.put(as(["app"]), `key ${n % 3}`, as({ n })),
  resolve: (store, n, as) => sessionOf(store, n).resolveDirty(as({ signal: signalOf(n) })),
  recall: (store, n, as) => store.recall(`harbor ${n}`, as({ limit: 3, signal: signalOf(n) })),
  expand: (store, n) => store.expand(1 + (n % 40)),
  forget: (store, n, as) => store.forget(SESSIONS[n % 2]!, n % 3 === 0 ? {} : as({ messageIds: [1 + (n % 40)] })),
  upkeep: (store, n) => store.upkeep({ signal: signalOf(n) }),
  verify: (store) => store.verify(),
  exportSome: (store) => store.export().next(),
  query: (store) => store.query("SELECT count(*) FROM messages"),
  stats: (store) => store.stats(),
  close: (store) => store.close(),
};
const NAMES = Object.keys(CALLS);

type Disguise = <T extends object>(value: T) => T;

function sessionOf(store: Store, n: number) {
  return store.session(SESSIONS[n % 2], SMALL);
}

function signalOf(n: number): AbortSignal {
  const controller = new AbortController();
  if (n % 4 === 0) controller.abort();
  else if (n % 4 === 1) setImmediate(() => controller.abort());
  return controller.signal;
}

/** An error of the caller's own, thrown inside a call. */
class OwnError extends Error {}

const steps = fc.array(
  fc.record({
    name: fc.constantFrom(...NAMES),
    n: fc.nat(99),
    /** How its arguments look. */
    disguise: fc.constantFrom("plain", "plain", "plain", "proxy", "getter", "throwing"),
    /** Where it is called: by the program, by a function that the store calls, or in a transaction that is given up. */
    place: fc.constantFrom("plain", "plain", "plain", "callback", "getter", "atomically", "given up"),
    isAwaited: fc.boolean(),
  }),
  { minLength: 5, maxLength: 40 },
);

/**
 * Goal: whatever is called in whichever order and place, it works or throws a typed error, and nothing is half-written.
 * Method: random calls on one store: while it is closed, in its own callbacks and transactions, with aborted signals, and with arguments
 * that are proxies and getters which call the store again. In the end the file is whole, and has what was acknowledged.
 */
test("calls out of order, in callbacks, aborted, and with proxies work or are refused", {
  timeout: 300_000,
}, async () => {
  let refusedCount = 0;
  let doneCount = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      await inFolderAsync(async (folder) => {
        const path = `${folder}/agent.db`;
        let inner: (() => unknown) | undefined;
        const calledBack = <T>(value: T): T => {
          const call = inner;
          inner = undefined;
          call?.();
          return value;
        };
        const options: OpenOptions = {
          summarizer: scriptedSummarizer("good", "fail", "good", "empty", "good"),
          clock: () => calledBack(1_700_000_000_000),
          tokenCounter: { name: "odd", count: (text) => calledBack(Math.ceil(text.length / 4)) },
          embedder: { ...hashingEmbedder, embed: (texts) => calledBack(hashingEmbedder.embed(texts)) },
          busyTimeoutMs: 50,
        };
        let store = openStore(path, options);
        const errors: unknown[] = [];
        const acknowledged = new Set<number>();
        const pending: Promise<unknown>[] = [];
        const judge = (error: unknown): void => {
          refusedCount += 1;
          if (!isTyped(error)) errors.push((error as Error)?.stack);
        };
        const run = (name: string, n: number, disguise: Disguise): unknown => {
          const result = CALLS[name]!(store, n, disguise);
          if (result instanceof Promise) pending.push(result.catch(judge));
          for (const one of [result].flat()) {
            const id = (one as { messageId?: unknown } | undefined)?.messageId;
            if (/^(append|sync)/.test(name) && typeof id === "number") acknowledged.add(id);
          }
          if (name === "forget" || name === "fork") acknowledged.clear();
          doneCount += 1;
          return result;
        };
        for (const [index, { name, n, disguise, place, isAwaited }] of list.entries()) {
          const next = list[(index + 1) % list.length]!;
          const inside = () => run(next.name, next.n, (value) => value);
          const as = disguised(disguise, place === "getter" ? () => attempt(inside, judge) : undefined);
          if (place === "callback") inner = inside;
          try {
            let result: unknown;
            if (place === "atomically") result = store.atomically(() => void run(name, n, as));
            else if (place === "given up") {
              const before = new Set(acknowledged);
              try {
                store.atomically(() => {
                  run(name, n, as);
                  throw new OwnError("given up");
                });
              } finally {
                for (const id of acknowledged) if (!before.has(id)) acknowledged.delete(id);
              }
            } else result = run(name, n, as);
            if (isAwaited) await result;
          } catch (error) {
            judge(error);
          }
          inner = undefined;
          if (name === "close" && n % 3 === 0) store = openStore(path, options);
        }
        inner = undefined;
        await Promise.all(pending);
        store.close();
        expect(errors).toEqual([]);
        const again = openStore(path, { tokenCounter: { name: "odd", count: (text) => Math.ceil(text.length / 4) } });
        try {
          expect(again.verify()).toMatchObject({ ok: true });
          const held = inDatabase(path, (database) => database.prepare("SELECT id FROM messages").pluck().all());
          expect([...acknowledged].filter((id) => !held.includes(id))).toEqual([]);
        } finally {
          again.close();
        }
      });
    }),
    { numRuns: runs(200) },
  );
  expect(doneCount).toBeGreaterThan(runs(200));
  expect(refusedCount).toBeGreaterThan(0);
});

function isTyped(error: unknown): boolean {
  return StoreError.is(error) || error instanceof OwnError || (error as Error | undefined)?.name === "AbortError";
}

function attempt(call: () => unknown, judge: (error: unknown) => void): void {
  try {
    call();
  } catch (error) {
    judge(error);
  }
}

/** What a value looks like to whoever reads it. `inside` runs at the first read of a getter or a proxy. */
function disguised(kind: string, inside: (() => void) | undefined): Disguise {
  let isFirst = true;
  const look = <T>(value: T): T => {
    const call = isFirst ? inside : undefined;
    isFirst = false;
    call?.();
    if (kind === "throwing") throw new OwnError("a getter throws");
    return value;
  };
  return (value) => {
    if (kind === "plain" && inside === undefined) return value;
    if (kind === "proxy" || Array.isArray(value)) {
      return new Proxy(value, { get: (target, key, receiver) => look(Reflect.get(target, key, receiver)) });
    }
    const copy = {};
    for (const [key, held] of Object.entries(value)) {
      Object.defineProperty(copy, key, { enumerable: true, get: () => look(held) });
    }
    return copy as typeof value;
  };
}
