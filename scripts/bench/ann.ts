import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { conversation } from "./conversations.ts";
import { fuzzIndex } from "./index-fuzz/fuzz.ts";
import { carryAll } from "./index-fuzz/store.ts";
import { median, take } from "./messages.ts";
import { nearestMessages } from "./nearest-messages.ts";

const SETTLED = 50_000;
const MESSAGES_OF_SESSION = 5_000;
const QUERIES = 300;
const K = 10;
const FUZZ_CASES = 500;
const APPENDS = 4_000;

export interface AnnBenchOptions {
  /** The folder that keeps the store of 50,000 settled clusters for later runs: a gigabyte, built in two minutes. */
  folder?: string | undefined;
}

/**
 * Measures the quality and the costs of the index of clusters.
 *
 * The clusters are those that a store makes of 300,000 messages by its usual placement. Queries are texts of sessions that are
 * not in the store. The baseline scans a `Float32Array` with every centroid of the store, in the same loop.
 */
export async function annFigures({ folder }: AnnBenchOptions = {}): Promise<Record<string, number>> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-ann-"));
  try {
    const kept = folder ?? scratch;
    mkdirSync(kept, { recursive: true });
    const path = settledStore(kept);
    await carryAll(path);
    const near = nearestMessages(path, unseenTexts().slice(0, 100));
    const { crashCount, wrongCount } = await fuzzIndex(FUZZ_CASES, 1);
    const messages = {
      "messagesRecall@50": near.recall,
      messagesP50Ms: near.ms,
      messagesP95Ms: near.msP95,
      messagesCount: near.messageCount,
    };
    return { ...messages, ...searchCosts(path), ...(await appendCosts(scratch)), indexFuzz: crashCount + wrongCount };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns the path of a store with at least 50,000 settled clusters, and makes the store if there is none. */
function settledStore(folder: string): string {
  const path = join(folder, "ann-50000.db");
  if (existsSync(path)) return path;
  const growing = `${path}.growing`;
  for (const suffix of ["", "-wal", "-shm"]) rmSync(growing + suffix, { force: true });
  const store = openStore(growing);
  for (let seed = 1; settledCount(store) < SETTLED; seed++) {
    const session = store.session(`session-${seed}`);
    const messages = conversation(seed);
    for (let count = 0; count < MESSAGES_OF_SESSION; count += 100) session.append(take(messages, 100));
  }
  store.close();
  renameSync(growing, path);
  return path;
}

function settledCount(store: Store): number {
  return Number(store.query("SELECT count(*) AS count FROM clusters WHERE settled_at IS NOT NULL")[0]!.count);
}

function searchCosts(path: string): Record<string, number> {
  const store = openStore(path, { readonly: true });
  try {
    const rows = store.query("SELECT root_id, centroid_sum, settled_at FROM clusters WHERE vector_count > 0");
    const { dimension } = hashingEmbedder;
    const roots = rows.map(({ root_id }) => Number(root_id));
    const table = new Float32Array(rows.length * dimension);
    rows.forEach(({ centroid_sum }, row) => {
      const sum = new Float32Array(new Uint8Array(centroid_sum as Buffer).buffer);
      const length = Math.hypot(...sum);
      table.set(
        sum.map((value) => value / length),
        row * dimension,
      );
    });
    const queries = unseenTexts();
    const first = timed(() => store.nearestRoots(queries[0]!, { k: K }));
    // One loop after the other, because a scan before each search would evict the graph from the processor's cache.
    const vectors = queries.map((text) => hashingEmbedder.embed(text)!);
    const scans = vectors.map((vector) => timed(() => nearestRows(table, vector)));
    const searches = vectors.map((vector) => timed(() => store.nearestRoots(vector, { k: K })));
    const texts = queries.map((text) => timed(() => store.nearestRoots(text, { k: K })));
    const found = scans.map(({ result }, index) => {
      const handles = searches[index]!.result.map(({ root }) => Number(/\d+/.exec(root)![0]));
      return result.filter((row) => handles.includes(roots[row]!)).length / K;
    });
    const medianMs = (runs: readonly { ms: number }[]): number => median(runs.map(({ ms }) => ms));
    return {
      "annRecall@10": found.reduce((sum, share) => sum + share, 0) / found.length,
      annSpeedup: medianMs(scans) / medianMs(searches),
      annScanP50Ms: medianMs(scans),
      annSearchP50Ms: medianMs(searches),
      annTextP50Ms: medianMs(texts),
      annFirstMs: first.ms,
      annClusters: roots.length,
    };
  } finally {
    store.close();
  }
}

/** Returns the texts of users in sessions that are not in the store. */
function unseenTexts(): string[] {
  const texts: string[] = [];
  for (let seed = 1_000_001; texts.length < QUERIES; seed++) {
    const users = take(conversation(seed), 30).filter(({ role }) => role === "user");
    texts.push(...users.map(({ content }) => content as string).filter((text) => hashingEmbedder.embed(text)));
  }
  return texts.slice(0, QUERIES);
}

/** Finds the ten nearest rows of a table by a plain scan, with four partial sums and a short sorted list. */
function nearestRows(table: Float32Array, vector: Float32Array): number[] {
  const { length: dimension } = vector;
  const best: { row: number; similarity: number }[] = [];
  let similarityMin = -1;
  for (let row = 0, at = 0; at < table.length; row++, at += dimension) {
    let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
    for (let i = 0; i < dimension; i += 4) {
      sum0 += table[at + i]! * vector[i]!;
      sum1 += table[at + i + 1]! * vector[i + 1]!;
      sum2 += table[at + i + 2]! * vector[i + 2]!;
      sum3 += table[at + i + 3]! * vector[i + 3]!;
    }
    const similarity = sum0 + sum1 + sum2 + sum3;
    if (best.length === K && similarity <= similarityMin) continue;
    best.push({ row, similarity });
    best.sort((left, right) => right.similarity - left.similarity);
    if (best.length > K) best.pop();
    similarityMin = best.at(-1)!.similarity;
  }
  return best.map(({ row }) => row);
}

/** Appends in turns to two equal stores. One has an index, and answers a search between appends. */
async function appendCosts(folder: string): Promise<Record<string, number>> {
  const paths = ["with", "without"].map((name) => join(folder, `append-${name}.db`));
  for (const path of paths) {
    const store = openStore(path);
    const messages = conversation(7);
    for (let count = 0; count < 8_000; count += 100) store.session("s").append(take(messages, 100));
    store.close();
  }
  await carryAll(paths[0]!);
  const stores = paths.map((path) => openStore(path));
  const messages = conversation(8);
  const times: number[][] = [[], []];
  for (let index = 0; index < APPENDS; index++) {
    const [message] = take(messages, 1);
    if (index % 20 === 0) stores[0]!.nearestRoots("what was said of this", { k: K });
    // Each store is first in every other turn.
    for (const side of index % 2 === 0 ? [0, 1] : [1, 0]) {
      times[side]!.push(timed(() => stores[side]!.session("s").append(message!)).ms);
    }
  }
  const isIndexed = existsSync(`${paths[0]}-coppice-ann.hnsw`) && !existsSync(`${paths[1]}-coppice-ann.hnsw`);
  for (const store of stores) store.close();
  if (!isIndexed) throw new Error("one of the stores was to have an index, and the other none");
  return { appendWithIndexVsWithout: median(times[0]!) / median(times[1]!) };
}

function timed<T>(run: () => T): { result: T; ms: number } {
  const from = performance.now();
  const result = run();
  return { result, ms: performance.now() - from };
}
