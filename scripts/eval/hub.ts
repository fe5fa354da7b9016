import { join } from "node:path";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { openHub } from "../../src/hub/index.ts";
import { openStore, type RecallHit } from "../../src/index.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { inFolder } from "./folder.ts";
import { type Corpus, readBeam, readLocomo } from "./recall-data.ts";

const LIMIT = 20;

/**
 * Pushes the conversations of LoCoMo and BEAM to a hub, one project each, and asks their questions of the hub and of a store with the
 * same messages, before and after the keeper has merged the index.
 *
 * `questions` counts the comparisons, `sameOrder` those with the same hits in the same order, and `sameScores` those with equal scores.
 *
 * @param dataFolder  The folder with `locomo/` and `beam/`.
 */
export async function evaluateHub(dataFolder: string): Promise<{ name: "hub"; figures: Record<string, number> }> {
  const server = await startPostgres({ isDurable: false });
  try {
    const connection = await HubConnection.to(server.url);
    await initHub(connection);
    await grantTeam(connection, "postgres", "eval", "write");
    await connection.close();
    const figures = { questions: 0, sameOrder: 0, sameScores: 0 };
    for (const corpus of [...readLocomo(dataFolder), ...readBeam(dataFolder)])
      await compare(server.url, corpus, figures);
    return { name: "hub", figures };
  } finally {
    await server.remove();
  }
}

async function compare(
  url: string,
  { project, sessions, questions }: Corpus,
  figures: { questions: number; sameOrder: number; sameScores: number },
): Promise<void> {
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "local.db"));
    for (const { id, messages } of sessions) {
      store.session(id, { project }).appendAll(messages.map(({ input }) => input));
    }
    await store.upkeep();
    const hub = await openHub(url);
    await hub.push(store, { projects: [project] });
    for (const keepsBefore of [false, true]) {
      if (keepsBefore) await hub.keep();
      for (const { text } of questions) {
        const own = await store.recall(text, { project, limit: LIMIT });
        const found = await hub.recall(text, { project, limit: LIMIT });
        const isSame = (of: (hit: RecallHit) => number): boolean => own.map(of).join() === found.map(of).join();
        figures.questions += 1;
        if (isSame(({ messageId }) => messageId)) figures.sameOrder += 1;
        if (isSame(({ score }) => score)) figures.sameScores += 1;
      }
    }
    await hub.close();
    store.close();
  });
}
