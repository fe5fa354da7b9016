import { describe, expect, onTestFinished, test } from "vitest";
import { coordinateEmbedder } from "../../../scripts/bench/index-fuzz/store.ts";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { TITLES } from "../../../src/models/title.ts";
import { openDatabase } from "../../../src/store/file/open.ts";
import { makeRepositories, type Repositories } from "../../../src/store/repositories.ts";
import { inSealed } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/**
 * Clusters 1 and 2, of two sessions, and 4, which has no words; when it starts, 1 settles.
 *
 *     log   1 start 2   2 start 1   3 start 4   4 settle 1
 */
function filled(): { path: string; centroids: Repositories["centroids"] } {
  const path = temporaryPath();
  const store = openedStore(path, { embedder: coordinateEmbedder(2), clock: () => 1_700_000_000_000 });
  const settings = { hotSize: 1, overlap: 0, openClustersMax: 1 };
  for (const [id, texts] of [
    ["a", ["0 2"]],
    ["b", ["3 3", "30 30"]],
    ["a", ["no words", "1 0"]],
  ] as const) {
    for (const text of texts) store.session(id, settings).append(user(text));
    store.session(id).compact();
  }
  store.close();
  const database = openDatabase(path, { readonly: true, durability: "process", busyTimeoutMs: 1_000 });
  onTestFinished(() => void database.client.close());
  return { path, centroids: makeRepositories(database, estimatingTokenCounter, TITLES).centroids };
}

const FIRST = { root: 1, position: 2, settled: true, vector: Float32Array.of(0, 1) };
const SECOND = { root: 2, position: 1, settled: false, vector: Float32Array.of(Math.SQRT1_2, Math.SQRT1_2) };

describe("centroids", () => {
  test("are the directions of the clusters that have one", () => {
    const { centroids } = filled();
    expect([...centroids.everyCentroid()].sort((left, right) => left.root - right.root)).toEqual([FIRST, SECOND]);
    expect([...centroids.centroids([4, 2, 99, 1])]).toEqual([SECOND, FIRST]);
    expect(centroids.roots().sort()).toEqual([1, 2, 4]);
    expect(centroids.clusterCount()).toBe(3);
  });

  test("have changed where the log says so", () => {
    const { centroids } = filled();
    expect(centroids.newestPosition()).toBe(4);
    expect(centroids.changedSince(0).sort()).toEqual([1, 2, 4]);
    expect(centroids.changedSince(2).sort()).toEqual([1, 4]);
    expect(centroids.changedSince(3)).toEqual([1]);
    expect(centroids.changedSince(4)).toEqual([]);
  });

  test("are left out where they are not finite", () => {
    const { path, centroids } = filled();
    const sum = Buffer.from(Float32Array.of(Number.NaN, 1).buffer);
    inSealed(path, (database) =>
      database.prepare("UPDATE clusters SET centroid_sum = ?, checksum = -1 WHERE root_id = 1").run(sum),
    );
    expect([...centroids.everyCentroid()]).toEqual([SECOND]);
    expect([...centroids.centroids([1])]).toEqual([]);
  });

  test("of another length are damage", () => {
    const { path, centroids } = filled();
    inSealed(path, (database) =>
      database.exec("UPDATE clusters SET centroid_sum = x'00', checksum = -1 WHERE root_id = 1"),
    );
    expect(() => [...centroids.centroids([1])]).toThrow("the centroid of cluster 1 is not a row of 2 4-byte numbers");
    const store = openedStore(path, { embedder: coordinateEmbedder(2), readonly: true });
    expect(() => store.nearestRoots([1, 0])).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  });

  test("are of a generation, and counted anew when clusters are written anew", () => {
    const { path, centroids } = filled();
    const stamp = {
      generation: 1,
      createdAtMs: 1_700_000_000_000,
      embedderId: "coordinates-2",
      dimension: 2,
      rewriteCount: 0,
    };
    expect(centroids.stamp()).toEqual(stamp);
    const store = openedStore(path, { embedder: coordinateEmbedder(2) });
    store.verify({ rebuild: true });
    const afterRebuild = centroids.stamp()!;
    store.forget("b");
    expect(centroids.stamp()!.rewriteCount).toBeGreaterThan(afterRebuild.rewriteCount);
  });
});
