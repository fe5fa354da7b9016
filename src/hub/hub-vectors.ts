import type { QueryVector } from "../recall/query-vector.ts";
import {
  ALL_MAX,
  type NearMessage,
  nearestInScope,
  sampleBy,
  sampledBackground,
  type VectorSource,
} from "../recall/vector-source.ts";
import type { SearchScope } from "../store/search-scope.ts";
import { dot } from "../vector/vector.ts";
import type { HubSource } from "./hub-source.ts";

/**
 * Compares messages of the hub by meaning, as a store does: all of them if they are few, else those of the nearest clusters. Every
 * cosine is exact, because the hub has the same bytes as the stores.
 */
export class HubVectors implements VectorSource {
  readonly #source: HubSource;
  readonly #nearIds: readonly number[];

  /** @param nearIds  The messages of the clusters that are nearest to the query. */
  constructor(source: HubSource, nearIds: readonly number[]) {
    this.#source = source;
    this.#nearIds = nearIds;
  }

  nearest(query: QueryVector, scope: SearchScope): NearMessage[] {
    const ids = this.#isSmall ? this.#source.ids() : this.#nearIds;
    const { sampledIds, nextIds } = this.#sample();
    // This also fetches the vectors that the background needs.
    this.#source.embeddings([...ids, ...sampledIds, ...nextIds.values()], query.embedderId);
    const near = Array.from(this.cosines(ids, query), ([messageId, similarity]) => ({ messageId, similarity }));
    return nearestInScope(near, (first) => this.#source.inScope(first, scope));
  }

  cosines(ids: readonly number[], query: QueryVector): Map<number, number> {
    const vectors = this.#source.embeddings(ids, query.embedderId);
    return new Map(Array.from(vectors, ([id, vector]) => [id, dot(vector, query.embedding)]));
  }

  background(query: QueryVector): ReturnType<VectorSource["background"]> {
    const { sampledIds, nextIds } = this.#sample();
    const vectors = this.#source.embeddings(sampledIds, query.embedderId);
    const nexts = this.#source.embeddings([...nextIds.values()], query.embedderId);
    return {
      sampled: Array.from(vectors.values(), (vector) => dot(vector, query.embedding)),
      background: sampledBackground(vectors, nextIds, nexts),
      messageCount: this.#source.messageCount,
    };
  }

  #sample(): { sampledIds: number[]; nextIds: Map<number, number> } {
    const sampledIds = this.#isSmall ? sampleBy(this.#source.ids(), (id) => id) : this.#source.sampledIds();
    return { sampledIds, nextIds: this.#source.nexts(sampledIds) };
  }

  get #isSmall(): boolean {
    return this.#source.messageCount <= ALL_MAX;
  }
}
