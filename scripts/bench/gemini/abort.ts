import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startGeminiServer } from "../../../test/support/gemini-server.ts";
import { quantile, randomFrom } from "../messages.ts";
import { dirtyStore } from "./dirty-store.ts";
import { LATENCY_MS } from "./speed.ts";

const ABORT_CHILD = fileURLToPath(new URL("./abort-child.ts", import.meta.url));
const TRIES = 120;
/** The number of tries in a fresh process, which takes a second to start. */
const FRESH_TRIES = 10;
/** With this concurrency, ten themes take three replies one after another. */
const CONCURRENCY = 4;

/**
 * Measures `abortMs`: the time from an abort until `resolveDirty` rejects, as the 95th percentile in milliseconds.
 *
 * Aborts come at random moments of runs that take three replies one after another: during calls, between two batches, and while
 * the run waits for another one. In fresh processes they come before or while the SDK is loaded.
 *
 * @throws if a run ends in another way than with the signal's reason.
 */
export async function abortFigures(tries = TRIES, freshTries = FRESH_TRIES): Promise<{ abortMs: number }> {
  const server = await startGeminiServer({ afterMs: LATENCY_MS, reply: "good" });
  try {
    const random = randomFrom(1);
    const times: number[] = [];
    for (let number = 0; number < tries; number++) {
      times.push(await abortMs(server.url, random() * 3 * LATENCY_MS, number % 4 === 0));
    }
    for (let number = 0; number < freshTries; number++) times.push(await freshAbortMs(server.url, random() * 600));
    return { abortMs: quantile(times, 0.95) };
  } finally {
    await server.close();
  }
}

/**
 * @param afterMs  The time before the abort. If the run ends earlier, it is repeated with half of that time.
 * @param isQueued  True if this run waits for another run of the session.
 */
async function abortMs(url: string, afterMs: number, isQueued: boolean): Promise<number> {
  const { store, session } = dirtyStore(":memory:", url);
  const before = isQueued ? session.resolveDirty() : undefined;
  before?.catch(() => {}); // stopped with the store
  try {
    const ms = await timeToReject((signal) => session.resolveDirty({ signal, concurrency: CONCURRENCY }), afterMs);
    return ms ?? (await abortMs(url, afterMs / 2, isQueued));
  } finally {
    store.close();
  }
}

/** @returns undefined if the run ended before the signal was aborted. */
export async function timeToReject(
  run: (signal: AbortSignal) => Promise<unknown>,
  afterMs: number,
): Promise<number | undefined> {
  const controller = new AbortController();
  const reason = new Error("enough");
  let abortedAt: number | undefined;
  const timer = setTimeout(() => {
    abortedAt = performance.now();
    controller.abort(reason);
  }, afterMs);
  try {
    await run(controller.signal);
    clearTimeout(timer);
    return undefined;
  } catch (error) {
    if (error !== reason || abortedAt === undefined) throw error;
    return performance.now() - abortedAt;
  }
}

async function freshAbortMs(url: string, afterMs: number): Promise<number> {
  const args = ["--import", "tsx", ABORT_CHILD, url, String(afterMs)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as number;
}
