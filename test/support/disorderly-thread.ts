import { parentPort } from "node:worker_threads";
import { openStore } from "../../src/index.ts";
import { acknowledgedBy, CALLS, isTyped } from "./disorderly-calls.ts";
import { scriptedSummarizer } from "./scripted-summarizer.ts";

export interface ThreadTask {
  path: string;
  list: readonly { name: string; n: number; isAwaited: boolean }[];
}

/** Each acknowledged message is told at once; the rest when all is done. */
export type ThreadNews =
  | { acknowledged: number[] }
  | { done: true; doneCount: number; refusedCount: number; errors: string[] };

const tell = (news: ThreadNews): void => parentPort!.postMessage(news);

parentPort!.on("message", async ({ path, list }: ThreadTask) => {
  const open = () => openStore(path, { summarizer: scriptedSummarizer("good", "fail", "good"), busyTimeoutMs: 200 });
  const errors: string[] = [];
  let [doneCount, refusedCount] = [0, 0];
  const judge = (error: unknown): void => {
    refusedCount += 1;
    if (!isTyped(error)) errors.push(String((error as Error)?.stack));
  };
  const pending: Promise<unknown>[] = [];
  let store = open();
  for (const { name, n, isAwaited } of list) {
    try {
      const result = CALLS[name]!(store, n, (value) => value);
      if (result instanceof Promise) pending.push(result.catch(judge));
      if (isAwaited) await pending.at(-1);
      tell({ acknowledged: acknowledgedBy(name, result) });
      doneCount += 1;
      if (name === "close" && n % 3 === 0) store = open();
    } catch (error) {
      judge(error);
    }
  }
  await Promise.all(pending);
  store.close();
  tell({ done: true, doneCount, refusedCount, errors });
});
