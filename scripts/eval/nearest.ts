import { join } from "node:path";
import { openStore } from "../../src/index.ts";
import { carryAll } from "../bench/index-fuzz/store.ts";
import { nearestMessages } from "../bench/nearest-messages.ts";
import { inFolder } from "./folder.ts";
import type { Corpus } from "./recall-data.ts";

/** With these settings, nearly all messages are in clusters. */
const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 4 };

/**
 * Measures the search of messages through their clusters.
 *
 * - `clusters.recall@50`: the share of the 50 messages nearest to a question that is found through the clusters, in percent.
 * - `clusters.ms`: the median time of a search in milliseconds, with vectors that were read before.
 */
export async function nearestFigures(corpora: readonly Corpus[]): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  await inFolder(async (folder) => {
    const path = join(folder, "nearest.db");
    const store = openStore(path);
    for (const { project, sessions } of corpora) {
      for (const { id, messages } of sessions) {
        const session = store.session(id, { project, ...SETTINGS });
        session.append(messages.map(({ input }) => input));
        session.compact();
      }
    }
    store.close();
    await carryAll(path);
    const { recall, ms } = nearestMessages(
      path,
      corpora.flatMap(({ questions }) => questions.map(({ text }) => text)),
    );
    figures["clusters.recall@50"] = Number((100 * recall).toFixed(1));
    figures["clusters.ms"] = Number(ms.toFixed(1));
  });
  return figures;
}
