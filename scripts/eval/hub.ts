import { startHub } from "../hub/server.ts";
import { installPackages } from "../install.ts";
import { PACKAGES, wordVectors } from "./embedders.ts";
import { compareByMeaning, compareSearches } from "./hub-recall.ts";
import { moveSessions } from "./hub-sessions.ts";

/**
 * Compares a hub with stores that have the same messages: searches (see `compareSearches`) and sessions that move (see `moveSessions`).
 * With a folder for the embedders of `eval -- embedders`, it first compares searches by meaning (see `compareByMeaning`).
 *
 * @param dataFolder  The folder with `locomo/` and `beam/`, `entire/` and `transcripts/`.
 */
export async function evaluateHub(
  dataFolder: string,
  { cache }: { cache?: string | undefined },
): Promise<{ name: "hub"; figures: Record<string, number> }> {
  const server = await startHub({ isDurable: false });
  try {
    if (cache !== undefined) installPackages(cache, PACKAGES);
    const meaning = cache === undefined ? {} : await compareByMeaning(server.url, dataFolder, wordVectors(cache));
    const searches = await compareSearches(server.url, dataFolder);
    return { name: "hub", figures: { ...meaning, ...searches, ...(await moveSessions(server.url, dataFolder)) } };
  } finally {
    await server.remove();
  }
}
