import { NearestClusters } from "../../src/ann/nearest-clusters.ts";
import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { TITLES } from "../../src/models/title.ts";
import { MessageVectors } from "../../src/recall/message-vectors.ts";
import { openDatabase } from "../../src/store/file/open.ts";
import { makeRepositories } from "../../src/store/repositories.ts";
import { dot } from "../../src/vector/vector.ts";
import { median } from "./messages.ts";

/** The number of messages that recall takes by their vectors. */
const K = 50;

export interface NearestMessages {
  /** The mean share of the 50 nearest messages that are found through the clusters, in [0, 1]. */
  recall: number;
  /** Milliseconds of a search, median and 95th percentile. */
  ms: number;
  msP95: number;
  messageCount: number;
}

/**
 * Searches a store's messages through its clusters, and compares the results with all messages. The vectors are those of the
 * default embedder, although recall does not search these. They are harder to search than a model's, because few messages share
 * words.
 */
export function nearestMessages(path: string, texts: readonly string[]): NearestMessages {
  const database = openDatabase(path, { readonly: true, durability: "process", busyTimeoutMs: 0 });
  try {
    const repositories = makeRepositories(database, estimatingTokenCounter, TITLES);
    const vectors = new MessageVectors(repositories, new NearestClusters(repositories.centroids, database));
    const queries = texts.flatMap((text) => {
      const embedding = hashingEmbedder.embed(text);
      return embedding === undefined ? [] : [{ embedding, embedderId: hashingEmbedder.id }];
    });
    const exact = queries.map((): { id: number; similarity: number }[] => []);
    const { evidence } = repositories;
    const newestId = evidence.idRanges().at(-1)?.[1] ?? 0;
    let messageCount = 0;
    for (let from = 1; from <= newestId; from += 1_000) {
      const ids = Array.from({ length: 1_000 }, (_, index) => from + index);
      const read = evidence.embeddings(ids, hashingEmbedder.id);
      messageCount += read.size;
      for (const [index, { embedding }] of queries.entries()) {
        const best = exact[index]!;
        for (const [id, vector] of read) best.push({ id, similarity: dot(vector, embedding) });
        best.sort((left, right) => right.similarity - left.similarity || left.id - right.id).splice(K);
      }
    }
    database.read(() => vectors.nearest(queries[0]!, {})); // loads the clusters and the windows
    const times: number[] = [];
    let found = 0;
    for (const [index, query] of queries.entries()) {
      const begun = performance.now();
      const near = database.read(() => vectors.nearest(query, {}));
      times.push(performance.now() - begun);
      // Messages that are equally near may stand for each other.
      const least = exact[index]!.at(-1)!.similarity - 1e-6;
      found += near.filter(({ similarity }) => similarity >= least).length / exact[index]!.length;
    }
    times.sort((left, right) => left - right);
    const msP95 = times[Math.floor(0.95 * times.length)]!;
    return { recall: found / queries.length, ms: median(times), msP95, messageCount };
  } finally {
    database.client.close();
  }
}
