import fc from "fast-check";
import { expect, test } from "vitest";
import { NearestClusters } from "../../src/ann/nearest-clusters.ts";
import { normalize } from "../../src/vector/vector.ts";
import { ClusterRows } from "../support/cluster-rows.ts";
import { expectSeen, runs, TESTS_ALL } from "../support/effort.ts";
import { inFolderAsync } from "../support/temporary-store.ts";

const DIMENSION = 6;
const K = 10;
const { signal } = new AbortController();

const KINDS = ["start", "join", "settle", "forget", "pass", "rebuild", "carry", "reopen", "look"] as const;
const OFTEN = ["start", "start", "start", "join", "carry", "carry", "carry", "look"] as const;

const deed = fc.record({ kind: fc.constantFrom(...KINDS, ...OFTEN), which: fc.nat(), many: fc.nat(1_500) });

/**
 * Goal: whatever happens to the clusters, and whoever has carried which of them into an index, what is found is there, with
 * its exact similarity, in the right order; an exact search finds the nearest of all, an approximate one nearly always.
 * Method: two processes and a reader on one store, whose clusters are started, joined, settled, forgotten and rebuilt in
 * random order; now and then one of the two carries, or all are opened again. After each deed all three are asked, and
 * compared with a list that is sorted whole.
 */
test("finds what a sorted list of all clusters begins with", async () => {
  const seen = { looks: 0, indexed: 0, indexedAndCompared: 0, refused: 0, wanted: 0, found: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(deed, { minLength: 8, maxLength: 24, size: "max" }),
      fc.integer({ min: 1, max: 2 ** 30 }),
      (deeds, seed) =>
        inFolderAsync(async (folder) => {
          const rows = new ClusterRows(`${folder}/agent.db`, { dimension: DIMENSION });
          const reading = new ClusterRows(rows.path, { shared: rows, readonly: true });
          const open = () => [rows, rows, reading].map((one) => new NearestClusters(one, one));
          const random = randomFrom(seed);
          const point = () => Array.from({ length: DIMENSION }, () => random() - 0.5);
          let all = open();
          let next = 1;
          for (const [index, { kind, which, many }] of deeds.entries()) {
            const roots = rows.roots();
            const chosen = roots.slice(which % (roots.length + 1)).slice(0, many / 25);
            if (kind === "start")
              for (let i = 0; i < many; i++) rows.change(next++, point(), { settled: which % 2 === 0 });
            if (kind === "join") for (const root of chosen) rows.change(root, point());
            if (kind === "settle") for (const root of chosen) rows.settle(root);
            if (kind === "forget") rows.forget(chosen);
            if (kind === "pass") rows.pass(2_000);
            if (kind === "rebuild") rows.forget([]);
            if (kind === "carry") await all[index % 2]!.carry(signal);
            if (kind === "reopen") all = open();
            const accepts = index % 3 === 0 ? (root: number) => root % 7 === index % 7 : undefined;
            const query = normalize(Float32Array.from(point()));
            const expected = sortedWhole(rows, query, accepts);
            for (const nearest of all) {
              const options = { k: K, ...(accepts !== undefined && { accepts }) };
              expect(nearest.nearest(query, { ...options, exact: true })).toEqual(expected.slice(0, K));
              const found = nearest.nearest(query, options);
              const places = found.map(({ root }) => expected.findIndex((other) => other.root === root));
              expect(found).toEqual(places.map((place) => expected[place]));
              expect(places).toEqual(places.toSorted((left, right) => left - right));
              expect(found).toHaveLength(Math.min(K, expected.length));
              const { indexedCount, comparedCount, refusal } = nearest.state();
              expect(indexedCount + comparedCount).toBe(rows.rows.size);
              seen.looks += 1;
              if (indexedCount > 0) seen.indexed += 1;
              if (indexedCount > 0 && comparedCount > 0) seen.indexedAndCompared += 1;
              if (refusal !== undefined) seen.refused += 1;
              seen.wanted += found.length;
              seen.found += places.filter((place) => place < K).length;
            }
          }
        }),
    ),
    { numRuns: Math.max(8, runs(13)) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expectSeen(seen, { indexed: 100, indexedAndCompared: 50, refused: 5 });
  expect(seen.found / seen.wanted).toBeGreaterThan(0.999);
}, 120_000);

function sortedWhole(rows: ClusterRows, query: Float32Array, accepts: ((root: number) => boolean) | undefined) {
  return [...rows.rows]
    .filter(([root]) => accepts === undefined || accepts(root))
    .map(([root, { vector }]) => ({ root, similarity: product(vector, query) }))
    .sort((left, right) => right.similarity - left.similarity || left.root - right.root);
}

/** As a cosine of unit vectors is taken everywhere: the same sums in the same order. */
function product(a: Float32Array, b: Float32Array): number {
  const sums = [0, 0, 0, 0];
  for (let i = 0; i < 4; i++) sums[i]! += a[i]! * b[i]!;
  for (let i = 4; i < DIMENSION; i++) sums[0]! += a[i]! * b[i]!;
  return sums[0]! + sums[1]! + (sums[2]! + sums[3]!);
}

/** Numbers in [0, 1) from a seed (Lehmer's generator). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
