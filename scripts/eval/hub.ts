import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { startPostgres } from "../../test/support/postgres.ts";
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
  const server = await startPostgres({ isDurable: false });
  try {
    const connection = await HubConnection.to(server.url);
    await initHub(connection);
    await grantTeam(connection, "postgres", "eval", "write");
    await connection.close();
    if (cache !== undefined) installPackages(cache, PACKAGES);
    const meaning = cache === undefined ? {} : await compareByMeaning(server.url, dataFolder, wordVectors(cache));
    const searches = await compareSearches(server.url, dataFolder);
    return { name: "hub", figures: { ...meaning, ...searches, ...(await moveSessions(server.url, dataFolder)) } };
  } finally {
    await server.remove();
  }
}
