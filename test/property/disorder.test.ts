import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { importFiles } from "../../src/imports/index.ts";
import type { OpenOptions, Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { threadProgram } from "../support/children.ts";
import { acknowledgedBy, CALL_NAMES, CALLS, type Disguise, isTyped } from "../support/disorderly-calls.ts";
import type { ThreadNews, ThreadTask } from "../support/disorderly-thread.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { inDatabase } from "../support/rows.ts";
import { user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { inFolderAsync, openFresh, temporaryStore } from "../support/temporary-store.ts";

const THREAD = await threadProgram(new URL("../support/disorderly-thread.ts", import.meta.url));

/** An error of the caller's own, thrown inside a call. */
class OwnError extends Error {}

const steps = fc.array(
  fc.record({
    name: fc.constantFrom(...CALL_NAMES),
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
  timeout: 600_000,
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
        let store = openFresh(path, options);
        const errors: unknown[] = [];
        const acknowledged = new Set<number>();
        const pending: Promise<unknown>[] = [];
        const judge = (error: unknown): void => {
          refusedCount += 1;
          if (!isTyped(error) && !(error instanceof OwnError)) errors.push((error as Error)?.stack);
        };
        const run = (name: string, n: number, disguise: Disguise): unknown => {
          const result = CALLS[name]!(store, n, disguise);
          if (result instanceof Promise) pending.push(result.catch(judge));
          for (const id of acknowledgedBy(name, result)) acknowledged.add(id);
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
          if (name === "close" && n % 3 === 0) store = openFresh(path, options);
        }
        inner = undefined;
        await Promise.all(pending);
        store.close();
        expect(errors).toEqual([]);
        const again = openFresh(path, { tokenCounter: { name: "odd", count: (text) => Math.ceil(text.length / 4) } });
        try {
          expect(again.verify()).toMatchObject({ ok: true });
          const held = inDatabase(path, (database) => database.prepare("SELECT id FROM messages").pluck().all());
          expect([...acknowledged].filter((id) => !held.includes(id))).toEqual([]);
        } finally {
          again.close();
        }
      });
    }),
    { numRuns: runs(100) },
  );
  expect(doneCount).toBeGreaterThan(seenInRuns(100));
  expect(refusedCount).toBeGreaterThan(0);
});

const threadLists = fc.record({
  lists: fc.array(
    fc.array(fc.record({ name: fc.constantFrom(...CALL_NAMES), n: fc.nat(99), isAwaited: fc.boolean() }), {
      minLength: 5,
      maxLength: 25,
    }),
    { minLength: 3, maxLength: 3 },
  ),
  /** Without it, whatever one of them is told that it stored must be there in the end. */
  isForgetting: fc.boolean(),
});

/**
 * Goal: the same for threads of one process, each with a store of its own on the same file.
 * Method: three threads make random calls at once. None is ended in a call: the driver aborts the process then.
 */
test("calls of worker threads on one file work or are refused", {
  timeout: 600_000,
}, async () => {
  const threads: Worker[] = [];
  let doneCount = 0;
  onTestFinished(async () => void (await Promise.all(threads.map((thread) => thread.terminate()))));
  const run = (index: number, task: ThreadTask): Promise<number[]> =>
    new Promise((resolve, reject) => {
      threads[index] ??= new Worker(THREAD, { execArgv: [] });
      const thread = threads[index];
      const acknowledged: number[] = [];
      const end = (): void => {
        thread.off("error", reject).off("message", hear);
        resolve(acknowledged);
      };
      const hear = (news: ThreadNews): void => {
        if ("acknowledged" in news) acknowledged.push(...news.acknowledged);
        else {
          doneCount += news.doneCount;
          if (news.errors.length > 0) reject(new Error(news.errors.join("\n")));
          else end();
        }
      };
      thread.on("error", reject).on("message", hear).postMessage(task);
    });
  await fc.assert(
    fc.asyncProperty(threadLists, ({ lists, isForgetting }) =>
      inFolderAsync(async (folder) => {
        const path = `${folder}/agent.db`;
        openFresh(path).close();
        const told = lists.map((list, index) => {
          const kept = list.filter(({ name }) => isForgetting || name !== "forget");
          return run(index, { path, list: kept });
        });
        const acknowledged = (await Promise.all(told)).flat();
        const store = openFresh(path);
        try {
          expect(store.verify()).toMatchObject({ ok: true });
          const held = inDatabase(path, (database) => database.prepare("SELECT id FROM messages").pluck().all());
          if (!isForgetting) expect(acknowledged.filter((id) => !held.includes(id))).toEqual([]);
        } finally {
          store.close();
        }
      }),
    ),
    { numRuns: runs(50) },
  );
  expect(doneCount).toBeGreaterThan(seenInRuns(50));
});

test("a store or a session that would be passed to a thread is refused, and a clone is no store", async () => {
  const store = temporaryStore();
  const session = store.session("a");
  session.append(user("The harbor."));
  for (const value of [store, session, { store }]) {
    expect(() => structuredClone(value)).toThrow(expect.objectContaining({ name: "DataCloneError" }));
    expect(() => new Worker("", { eval: true, workerData: value })).toThrow(
      expect.objectContaining({ name: "DataCloneError" }),
    );
  }
  const copy = { ...store } as Store;
  await expect(importFiles(copy, "/nowhere")).rejects.toMatchObject({ code: "OPTION_INVALID" });
  expect(store.verify()).toMatchObject({ ok: true, messageCount: 1 });
});

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
