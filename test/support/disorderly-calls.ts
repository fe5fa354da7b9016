import { type Store, StoreError } from "../../src/index.ts";
import { calls, results, talk, user } from "./said.ts";

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
export const CALLS: Record<string, (store: Store, n: number, disguise: Disguise) => unknown> = {
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
export const CALL_NAMES = Object.keys(CALLS);

export type Disguise = <T extends object>(value: T) => T;

function sessionOf(store: Store, n: number) {
  return store.session(SESSIONS[n % 2], SMALL);
}

function signalOf(n: number): AbortSignal {
  const controller = new AbortController();
  if (n % 4 === 0) controller.abort();
  else if (n % 4 === 1) setImmediate(() => controller.abort());
  return controller.signal;
}

/** The ids of the messages that a call says are stored. */
export function acknowledgedBy(name: string, result: unknown): number[] {
  if (!/^(append|sync)/.test(name)) return [];
  return [result].flat().flatMap((one) => {
    const id = (one as { messageId?: unknown } | undefined)?.messageId;
    return typeof id === "number" ? [id] : [];
  });
}

export function isTyped(error: unknown): boolean {
  return StoreError.is(error) || (error as Error | undefined)?.name === "AbortError";
}
