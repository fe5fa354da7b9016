import { meaningWeight } from "../recall/meaning-weight.ts";
import type { QueryVector } from "../recall/query-vector.ts";
import { ALL_MAX, type NearMessage, nearestInScope, sampleBy, type VectorSource } from "../recall/vector-source.ts";
import type { SearchScope } from "../store/index.ts";
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
    // This also fetches the vectors of the sample.
    this.#source.embeddings([...ids, ...this.#sampledIds()], query.embedderId);
    const near = Array.from(this.cosines(ids, query), ([messageId, similarity]) => ({ messageId, similarity }));
    return nearestInScope(near, (first) => this.#source.inScope(first, scope));
  }

  cosines(ids: readonly number[], query: QueryVector): Map<number, number> {
    const vectors = this.#source.embeddings(ids, query.embedderId);
    return new Map(Array.from(vectors, ([id, vector]) => [id, dot(vector, query.embedding)]));
  }

  sample(query: QueryVector): ReturnType<VectorSource["sample"]> {
    const vectors = this.#source.embeddings(this.#sampledIds(), query.embedderId);
    return {
      sampled: Array.from(vectors.values(), (vector) => dot(vector, query.embedding)),
      weight: meaningWeight(this.#source, [...vectors.keys()], query.embedderId),
    };
  }

  #sampledIds(): number[] {
    return this.#isSmall ? sampleBy(this.#source.ids(), (id) => id) : this.#source.sampledIds();
  }

  get #isSmall(): boolean {
    return this.#source.messageCount <= ALL_MAX;
  }
}
