import { systemClock } from "../core/clock.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { Repositories } from "../store/index.ts";
import { hitsOf } from "./answer.ts";
import type { RecallHit } from "./hits.ts";
import { parseQuery } from "./query.ts";
import { queryVector } from "./query-vector.ts";
import { search } from "./search.ts";
import { storeSource } from "./store-source.ts";

/**
 * Finds what answers a prompt, with the ranking and the confidence of `recall`, for somebody who has not searched. So the quotes of the
 * prompt are ordinary text, and a message that repeats it is not an answer. Meaning is not compared: it would need a model.
 *
 * @param shownIds  The messages that the reader has already.
 * @returns also the weights of the prompt's words.
 */
export function recallUnasked(
  repositories: Repositories,
  prompt: string,
  project: string,
  { shownIds, limit }: { shownIds: ReadonlySet<number>; limit: number },
): { hits: RecallHit[]; weights: ReadonlyMap<string, number> } {
  const query = { ...parseQuery(prompt), phrases: [] };
  return repositories.database.read(() => {
    const source = storeSource(repositories);
    const vector = queryVector({ repositories, embedder: hashingEmbedder }, prompt, undefined);
    const ranking = search({ source, clock: systemClock }, query, vector, { project }, { limit }, shownIds);
    const options = {
      limit,
      neighbors: 0,
      by: "message",
      explain: false,
      tokenCounter: estimatingTokenCounter,
    } as const;
    return { hits: hitsOf(source, query, ranking, options), weights: ranking.weights };
  });
}
