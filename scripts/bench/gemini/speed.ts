import { geminiSummarizer } from "../../../src/index.ts";
import { startGeminiServer } from "../../../test/support/gemini-server.ts";
import { withoutSharedCalls } from "../../../test/support/without-shared-calls.ts";
import { median } from "../messages.ts";
import { dirtyStore } from "./dirty-store.ts";

/** The milliseconds that the server takes for a reply. */
export const LATENCY_MS = 300;
const ROUNDS = 3;
const CLUSTERS_MIN = 8;

/**
 * Measures `resolveSpeedup`: how many times faster clusters are summarized by default than one after another, if each has a
 * call of its own. It is the median of three rounds, after the SDK was loaded.
 */
export async function speedFigures(latencyMs = LATENCY_MS, rounds = ROUNDS): Promise<{ resolveSpeedup: number }> {
  const server = await startGeminiServer("good");
  try {
    await resolveMs(server.url);
    server.script({ afterMs: latencyMs, reply: "good" });
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const oneByOne = await resolveMs(server.url, { concurrency: 1 });
      ratios.push(oneByOne / (await resolveMs(server.url)));
    }
    return { resolveSpeedup: median(ratios) };
  } finally {
    await server.close();
  }
}

async function resolveMs(url: string, options: { concurrency?: number } = {}): Promise<number> {
  const { store, session } = dirtyStore(":memory:", url, {
    summarizer: withoutSharedCalls(geminiSummarizer({ apiKey: "loopback", baseUrl: url })),
  });
  try {
    const from = performance.now();
    const { resolved } = await session.resolveDirty(options);
    if (resolved < CLUSTERS_MIN) throw new Error(`only ${resolved} clusters were summarized`);
    return performance.now() - from;
  } finally {
    store.close();
  }
}
