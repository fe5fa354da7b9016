import { NearestClusters } from "../../../src/ann/nearest-clusters.ts";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { type Embedder, openStore, type Store } from "../../../src/index.ts";
import { TITLES } from "../../../src/models/title.ts";
import { openDatabase } from "../../../src/store/file/open.ts";
import { makeRepositories } from "../../../src/store/repositories.ts";
import { normalize } from "../../../src/vector/vector.ts";
import { randomFrom } from "../messages.ts";

/** The number of clusters: enough for an index, and some that are not in it yet. */
const CLUSTERS = 1_300;
const QUERIES = 8;

export const K = 10;

/** Returns an embedder that reads a text as a list of coordinates, so that a test decides the clusters of its store. */
export function coordinateEmbedder(dimension: number): Embedder {
  return {
    id: `coordinates-${dimension}`,
    dimension,
    similarityMin: 1,
    embed: (text) => {
      const numbers = text.split(" ").map(Number);
      const isPoint = numbers.length === dimension && numbers.every(Number.isFinite) && numbers.some(Boolean);
      return isPoint ? normalize(Float32Array.from(numbers)) : undefined;
    },
  };
}

export function openCoordinates(path: string, dimension: number): Store {
  return openStore(path, { embedder: coordinateEmbedder(dimension), clock: () => 1_700_000_000_000 });
}

/** Writes a store with its index file. Its clusters have one message each, at random points. */
export async function writeIndexedStore(path: string, dimension: number, seed: number): Promise<void> {
  const store = openCoordinates(path, dimension);
  const random = randomFrom(seed);
  const session = store.session("s", { hotSize: 1, overlap: 0, openClustersMax: 1, maxThemes: 1 });
  for (let count = 0; count < CLUSTERS; count += 100) {
    session.append(Array.from({ length: 100 }, () => ({ role: "user", content: pointText(dimension, random) })));
  }
  session.compact();
  store.close();
  await carryAll(path);
}

/** Brings the index of clusters up to date, as `resolveDirty` does after its summaries. */
export async function carryAll(path: string): Promise<void> {
  const database = openDatabase(path, { readonly: false, durability: "process", busyTimeoutMs: 5_000 });
  const nearest = new NearestClusters(makeRepositories(database, estimatingTokenCounter, TITLES).centroids, database);
  const { signal } = new AbortController();
  for (let before = -1; nearest.state().indexedCount > before; ) {
    before = nearest.state().indexedCount;
    await nearest.carry(signal);
  }
  database.client.close();
}

/** Returns the clusters nearest to a few fixed points as text. */
export function answersOf(store: Store, dimension: number, options: { exact: boolean }): string {
  const random = randomFrom(99);
  const queries = Array.from({ length: QUERIES }, () => pointText(dimension, random));
  return JSON.stringify(queries.map((text) => store.nearestRoots(text, { k: K, ...options })));
}

function pointText(dimension: number, random: () => number): string {
  return Array.from({ length: dimension }, () => (random() - 0.5).toFixed(4)).join(" ");
}
