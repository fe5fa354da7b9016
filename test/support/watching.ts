import { setTimeout as wait } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { WatchEvent } from "../../src/imports/watch/followed-files.ts";
import { WatchRun } from "../../src/imports/watch/watch-run.ts";
import type { Store } from "../../src/index.ts";

/** A watch under way, and what it has told of. */
export interface Watching {
  events: WatchEvent[];
  /** Wait until it is so, for a minute at most. @throws with what was told of meanwhile. */
  until(what: string, isSo: () => boolean): Promise<void>;
  /** Of the messages that were brought in since it began. */
  newCount(): number;
  stop(): Promise<void>;
}

/** Watch the paths until the test is over, from when all that is there is in the store. */
export async function startWatch(store: Store, paths: readonly string[], project?: string): Promise<Watching> {
  const events: WatchEvent[] = [];
  const stopping = new AbortController();
  const options = { paths, onEvent: (event: WatchEvent) => events.push(event), signal: stopping.signal };
  const run = new WatchRun(store, project === undefined ? options : { ...options, project });
  const following = run.follow();
  following.catch(() => {});
  const stop = async (): Promise<void> => {
    stopping.abort();
    await following;
  };
  onTestFinished(stop);
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const byMs = performance.now() + 60_000;
    while (!isSo()) {
      if (performance.now() > byMs) throw new Error(`Never: ${what}. Told: ${JSON.stringify(events)}`);
      await Promise.race([wait(10), following]);
    }
  };
  await until("caught up", () => events.some(({ event }) => event === "caught_up"));
  return { events, until, newCount: () => run.newCount, stop };
}
