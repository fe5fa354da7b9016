import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { geminiSummarizer, openStore, type Session, type Store } from "../../../src/index.ts";
import { startGeminiServer } from "../../../test/support/gemini-server.ts";
import { quantile, sessionMessages, take } from "../messages.ts";

const APPENDS = 4_000;
/** The appends before any is timed, so that code is compiled and summaries are due. */
const WARMING = 1_000;

/** A store in a file, and the durations of its appends in milliseconds. */
interface Side {
  store: Store;
  session: Session;
  times: number[];
}

/**
 * Measures `appendBlockedRatio`: the 99th percentile of the time of an append while `resolveDirty` waits for a server that
 * hangs, relative to a store that calls no server. Both stores get the same messages, in turns.
 */
export async function blockedFigures(appends = APPENDS, warming = WARMING): Promise<{ appendBlockedRatio: number }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  const server = await startGeminiServer("hang");
  const sideOf = (name: string): Side => {
    const summarizer = geminiSummarizer({ apiKey: "loopback", baseUrl: server.url });
    const store = openStore(join(folder, name), { summarizer });
    return { store, session: store.session("s"), times: [] };
  };
  const alone = sideOf("alone.db");
  const blocked = sideOf("blocked.db");
  const controller = new AbortController();
  try {
    const messages = sessionMessages(1);
    for (const message of take(messages, warming)) for (const { session } of [alone, blocked]) session.append(message);
    const run = blocked.session.resolveDirty({ signal: controller.signal });
    run.catch(() => {}); // aborted below
    await server.arrived(1);
    for (let number = 0; number < appends; number++) {
      const message = messages.next().value!;
      // Each store is first in every other turn.
      for (const side of number % 2 === 0 ? [alone, blocked] : [blocked, alone]) {
        const from = performance.now();
        side.session.append(message);
        side.times.push(performance.now() - from);
        await setImmediate(); // lets waiting work continue
      }
    }
    return { appendBlockedRatio: quantile(blocked.times, 0.99) / quantile(alone.times, 0.99) };
  } finally {
    controller.abort();
    alone.store.close();
    blocked.store.close();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}
