import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { Best } from "../../../src/ann/best.ts";
import { type Hnswlib, loadHnswlib } from "../../../src/ann/graph.ts";
import { NearestClusters } from "../../../src/ann/nearest-clusters.ts";
import { StoreError } from "../../../src/core/errors.ts";
import { ClusterRows } from "../../support/cluster-rows.ts";
import { temporaryFolder, temporaryPath } from "../../support/temporary-store.ts";

const { signal } = new AbortController();
const EAST = Float32Array.of(1, 0);

/** Settled clusters around the circle, a ten-thousandth of it apart, from root 1 in the east. */
function circle(path: string, count: number): ClusterRows {
  const rows = new ClusterRows(path);
  for (let root = 1; root <= count; root++) turn(rows, root, root - 1, true);
  return rows;
}

function turn(rows: ClusterRows, root: number, steps: number, settled = false): void {
  const angle = (2 * Math.PI * steps) / 10_000;
  rows.change(root, [Math.cos(angle), Math.sin(angle)], { settled });
}

/** The same rows, which refuse to be looked at but inside `read` and `write`. */
function snapshotsOnly(rows: ClusterRows): ClusterRows {
  let depth = 0;
  const inside = <T>(run: () => T): T => {
    depth += 1;
    try {
      return run();
    } finally {
      depth -= 1;
    }
  };
  rows.read = inside;
  rows.write = (_operation, change) => inside(change);
  for (const name of [
    "stamp",
    "newestPosition",
    "clusterCount",
    "changedSince",
    "centroids",
    "everyCentroid",
  ] as const) {
    const look = rows[name].bind(rows) as (...given: unknown[]) => never;
    rows[name] = (...given: unknown[]) => {
      if (depth === 0) throw new Error(`${name} outside a snapshot`);
      return look(...given);
    };
  }
  return rows;
}

function nearestOf(rows: ClusterRows): NearestClusters {
  return new NearestClusters(rows, rows);
}

async function carried(rows: ClusterRows): Promise<NearestClusters> {
  const nearest = nearestOf(rows);
  nearest.nearest(EAST, { k: 1 });
  await nearest.carry(signal);
  return nearest;
}

function rootsNear(nearest: NearestClusters, k: number, options: object = {}): number[] {
  return nearest.nearest(EAST, { k, ...options }).map(({ root }) => root);
}

describe("while there are few", () => {
  test("one without a direction is near nothing, until it has one, and when it has lost it", () => {
    const rows = new ClusterRows(":memory:");
    const nearest = nearestOf(rows);
    rows.change(1, [0, 0]);
    expect(rootsNear(nearest, 5)).toEqual([]);
    rows.change(1, [1, 0]);
    expect(rootsNear(nearest, 5)).toEqual([1]);
    rows.change(1, [0, 0]);
    expect(rootsNear(nearest, 5)).toEqual([]);
  });

  test("no index is made", async () => {
    const rows = circle(temporaryPath(), 999);
    expect((await carried(rows)).state()).toMatchObject({
      indexedCount: 0,
      comparedCount: 999,
      isWorthIndexing: false,
    });
    expect(readdirSync(dirname(rows.path))).toEqual([]);
  });
});

describe("an index", () => {
  test("holds what rests, and is written for its owner only", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = await carried(rows);
    expect(nearest.state()).toEqual({
      indexedCount: 1_000,
      comparedCount: 0,
      waitingCount: 0,
      isWorthIndexing: true,
      libraryError: undefined,
      refusal: undefined,
      saveFailure: undefined,
    });
    expect(readdirSync(dirname(rows.path)).sort()).toEqual(["agent.db-coppice-ann.hnsw", "agent.db-coppice-ann.json"]);
    for (const suffix of ["-coppice-ann.hnsw", "-coppice-ann.json"])
      expect(statSync(rows.path + suffix).mode & 0o777).toBe(0o600);
    expect(rootsNear(nearest, 4)).toEqual([1, 2, 3, 4]);
  });

  test("is read by the next process, and by readers", async () => {
    const rows = circle(temporaryPath(), 1_200);
    const before = (await carried(rows)).nearest(EAST, { k: 30 });
    const reader = nearestOf(new ClusterRows(rows.path, { shared: rows, readonly: true }));
    expect(reader.state()).toMatchObject({ indexedCount: 1_200, comparedCount: 0 });
    expect(reader.nearest(EAST, { k: 30 })).toEqual(before);
  });

  test("goes on where it was, with what has come since", async () => {
    const rows = circle(temporaryPath(), 1_100);
    await carried(rows);
    for (let root = 2_001; root <= 3_000; root++) turn(rows, root, -(root - 2_000), true);
    const nearest = nearestOf(rows);
    expect(nearest.state()).toMatchObject({ indexedCount: 1_100, comparedCount: 1_000, waitingCount: 1_000 });
    expect(rootsNear(nearest, 5)).toEqual([1, 2, 2_001, 3, 2_002]);
    await nearest.carry(signal);
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 2_100, comparedCount: 0 });
    expect(rootsNear(nearestOf(rows), 5)).toEqual([1, 2, 2_001, 3, 2_002]);
  });

  test("takes an open cluster when it has rested for 2,000 rows of the log", async () => {
    const rows = circle(temporaryPath(), 1_000);
    turn(rows, 5_000, 0);
    turn(rows, 5_001, 0);
    rows.pass(1_999);
    expect((await carried(rows)).state()).toMatchObject({ indexedCount: 1_001, comparedCount: 1 });
  });

  test("lets a cluster go that takes a member after all, here and in other processes", async () => {
    const rows = circle(temporaryPath(), 1_000);
    turn(rows, 5_000, 5);
    rows.pass(2_000);
    const nearest = await carried(rows);
    const other = nearestOf(rows);
    expect(rootsNear(other, 6, { accepts: (root: number) => root > 1_000 })).toEqual([5_000]);
    turn(rows, 5_000, 0);
    for (const one of [nearest, other, nearestOf(rows)]) {
      expect(rootsNear(one, 3)).toEqual([1, 5_000, 2]);
      expect(one.state()).toMatchObject({ indexedCount: 1_000, comparedCount: 1 });
    }
  });

  test("keeps a cluster that only settles", async () => {
    const rows = circle(temporaryPath(), 1_000);
    turn(rows, 5_000, 0);
    rows.pass(2_000);
    const nearest = await carried(rows);
    rows.settle(5_000);
    expect(nearest.state()).toMatchObject({ indexedCount: 1_001, comparedCount: 0 });
    expect(rootsNear(nearest, 2)).toEqual([1, 5_000]);
  });

  test("is made again when most of it has been left out, from rows of one snapshot", async () => {
    const rows = snapshotsOnly(new ClusterRows(temporaryPath()));
    let nearest = nearestOf(rows);
    for (let round = 0; round < 7; round++) {
      for (let root = 1; root <= 1_000; root++) turn(rows, root, root + round / 10);
      rows.pass(2_000);
      nearest = await carried(rows);
      expect(nearest.state()).toMatchObject({ indexedCount: 1_000, comparedCount: 0 });
      expect(rootsNear(nearest, 3)).toEqual([1, 2, 3]);
    }
    const { index } = JSON.parse(readFileSync(`${rows.path}-coppice-ann.json`, "utf8")) as {
      index: { roots: number[] };
    };
    // When the sixth round has changed all of them, 5,000 points lead nowhere, and 4,096 may. The seventh goes on.
    expect(index.roots).toHaveLength(2_000);
  });

  test("leaves it to the rows which of those that are equally near come first", async () => {
    const rows = circle(temporaryPath(), 1_000);
    for (let root = 2_000; root > 1_900; root--) turn(rows, root, 0, true);
    const nearest = await carried(rows);
    expect(rootsNear(nearest, 4)).toEqual([1, 1_901, 1_902, 1_903]);
    expect(rootsNear(nearest, 102).slice(-2)).toEqual([2_000, 2]);
  });

  test("finds what is near among thousands of equal clusters, and which of those are the oldest", async () => {
    const rows = circle(temporaryPath(), 1_000);
    for (let root = 6_000; root > 2_000; root--) turn(rows, root, 500.5, true);
    const nearest = await carried(rows);
    const angle = (2 * Math.PI * 500) / 10_000;
    const vector = Float32Array.of(Math.cos(angle), Math.sin(angle));
    expect(nearest.nearest(vector, { k: 4 }).map(({ root }) => root)).toEqual([501, 2_001, 2_002, 2_003]);
    expect(rootsNear(nearest, 4)).toEqual([1, 2, 3, 4]);
    const { index } = JSON.parse(readFileSync(`${rows.path}-coppice-ann.json`, "utf8")) as {
      index: { roots: number[][] };
    };
    expect(index.roots.length).toBeLessThanOrEqual(1_001);
  });

  test("answers a selective wish exactly", async () => {
    const nearest = await carried(circle(temporaryPath(), 5_000));
    const far = (root: number): boolean => root > 4_990;
    expect(rootsNear(nearest, 4, { accepts: far })).toEqual([4_991, 4_992, 4_993, 4_994]);
    expect(rootsNear(nearest, 20, { accepts: far })).toHaveLength(10);
    expect(rootsNear(nearest, 4, { accepts: () => false })).toEqual([]);
  });

  test("passes on what a wish throws", async () => {
    const nearest = await carried(circle(temporaryPath(), 1_000));
    const accepts = (): boolean => {
      throw new Error("no wish");
    };
    expect(() => nearest.nearest(EAST, { k: 3, accepts })).toThrow("no wish");
  });

  test("gives as many as there are, however many are wanted", async () => {
    const nearest = await carried(circle(temporaryPath(), 3_000));
    expect(new Set(rootsNear(nearest, 2_500)).size).toBe(2_500);
    expect(rootsNear(nearest, 10_000)).toHaveLength(3_000);
    expect(rootsNear(nearest, 10_000, { exact: true })).toHaveLength(3_000);
  });

  test("is compared in memory by all exact searches but the first, as without an index", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = await carried(rows);
    expect(rootsNear(nearest, 3, { exact: true })).toHaveLength(3);
    turn(rows, 1, 5_000);
    const readCounts: number[] = [];
    const read = rows.centroids.bind(rows);
    rows.centroids = (roots) => {
      const given = [...roots];
      readCounts.push(given.length);
      return read(given);
    };
    rows.everyCentroid = () => {
      throw new Error("all clusters are read again");
    };
    expect(rootsNear(nearest, 2, { exact: true })).toEqual([2, 3]);
    expect(rootsNear(nearest, 2, { exact: true, accepts: (root: number) => root > 100 })).toEqual([101, 102]);
    expect(readCounts).toEqual([1]); // the one that has moved
  });

  test("is kept in memory only where somebody asks, if it could be written", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const silent = nearestOf(rows);
    await silent.carry(signal);
    expect(existsSync(`${rows.path}-coppice-ann.hnsw`)).toBe(true);
    const before = statSync(`${rows.path}-coppice-ann.hnsw`).mtimeMs;
    await silent.carry(signal);
    expect(statSync(`${rows.path}-coppice-ann.hnsw`).mtimeMs).toBe(before);
    expect(silent.state()).toMatchObject({ indexedCount: 1_000 });
  });
});

describe("what is forgotten", () => {
  test("is not near any more, in any process, and the index is refused", async () => {
    const rows = circle(temporaryPath(), 1_500);
    const nearest = await carried(rows);
    const other = nearestOf(rows);
    expect(rootsNear(other, 2)).toEqual([1, 2]);
    rows.forget([1, 3]);
    for (const one of [nearest, other, nearestOf(rows)]) {
      expect(rootsNear(one, 2)).toEqual([2, 4]);
      expect(one.state()).toMatchObject({ indexedCount: 0, comparedCount: 1_498 });
      expect(one.state().refusal).toContain("forgotten");
    }
  });

  test("goes from the disk, with what another process has half written", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = await carried(rows);
    const folder = dirname(rows.path);
    for (const name of [
      "agent.db-coppice-ann.hnsw.77-3.new",
      "agent.db-coppice-ann.json.77-3.new",
      "agent.db-coppice-ann-notes",
      "agent.db-coppice-ann.hnsw.bak",
    ])
      writeFileSync(join(folder, name), "");
    rows.forget([1]);
    expect(nearest.forget()).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(["agent.db-coppice-ann-notes", "agent.db-coppice-ann.hnsw.bak"]);
  });

  test("leaves an index alone that was written since", async () => {
    const rows = circle(temporaryPath(), 1_000);
    rows.forget([1_001]);
    const nearest = await carried(rows);
    expect(nearest.forget()).toBe(true);
    expect(readdirSync(dirname(rows.path)).sort()).toEqual(["agent.db-coppice-ann.hnsw", "agent.db-coppice-ann.json"]);
  });

  test("goes from the disk where only the index is left of the two files", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = await carried(rows);
    rmSync(`${rows.path}-coppice-ann.json`);
    expect(nearest.forget()).toBe(true);
    expect(readdirSync(dirname(rows.path))).toEqual([]);
  });

  test("goes from the disk with the next carrying, where the process that forgot it was killed", async () => {
    const rows = circle(temporaryPath(), 1_000);
    await carried(rows);
    rows.forget(Array.from({ length: 900 }, (_, index) => index + 1));
    await nearestOf(rows).carry(signal);
    expect(readdirSync(dirname(rows.path))).toEqual([]);
  });

  test("goes from the disk with what a killed process has half written, after an hour", async () => {
    const rows = circle(temporaryPath(), 10);
    const halfWritten = `${rows.path}-coppice-ann.hnsw.77-3.new`;
    writeFileSync(halfWritten, "\0".repeat(100));
    await nearestOf(rows).carry(signal);
    expect(readdirSync(dirname(rows.path))).toEqual([basename(halfWritten)]);
    utimesSync(halfWritten, 1_000_000, 1_000_000);
    await nearestOf(rows).carry(signal);
    expect(readdirSync(dirname(rows.path))).toEqual([]);
  });

  test("is in no file that another process was writing", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = nearestOf(rows);
    const carrying = nearest.carry(signal);
    rows.forget([1]);
    await carrying;
    expect(existsSync(`${rows.path}-coppice-ann.hnsw`)).toBe(false);

    // In the last moment: when it is put in place.
    const late = circle(temporaryPath(), 1_000);
    late.write = (_operation, change) => {
      late.forget([1]);
      return change();
    };
    const { saveFailure } = (await carried(late)).state();
    expect(saveFailure).toEqual({ reason: "clusters were forgotten or rebuilt meanwhile", cause: "other" });
    expect(readdirSync(dirname(late.path))).toEqual([]);
  });

  test("leaves an index that is made again", async () => {
    const rows = circle(temporaryPath(), 1_500);
    const nearest = await carried(rows);
    rows.forget([1]);
    await nearest.carry(signal);
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 1_499, comparedCount: 0, refusal: undefined });
  });
});

describe("an index file of something else", () => {
  test("is refused where the store has become an older one", async () => {
    const path = temporaryPath();
    await carried(circle(path, 1_010));
    const older = circle(path, 1_005);
    expect(nearestOf(older).state().refusal).toBe("it is newer than the store");
    // It has gone on since, otherwise than before.
    for (let root = 1_006; root <= 1_020; root++) turn(older, root, 5_000, true);
    expect(nearestOf(older).state().refusal).toBe("it holds clusters that the store does not");
  });

  test("is used where a cluster that was sampled has changed since", async () => {
    const rows = circle(temporaryPath(), 1_000);
    await carried(rows);
    turn(rows, 1, 5_000);
    turn(rows, 1_000, 5_000);
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 998, comparedCount: 2, refusal: undefined });
  });
});

describe("carrying", () => {
  test("is for writers", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const reader = await carried(new ClusterRows(rows.path, { shared: rows, readonly: true }));
    expect(reader.state()).toMatchObject({ indexedCount: 0, comparedCount: 1_000, waitingCount: 1_000 });
    expect(readdirSync(dirname(rows.path))).toEqual([]);
  });

  test("in memory writes no file", async () => {
    expect((await carried(circle(":memory:", 1_000))).state()).toMatchObject({
      indexedCount: 1_000,
      saveFailure: undefined,
    });
    expect(existsSync(":memory:-coppice-ann.hnsw")).toBe(false);
  });

  test("goes on in the next call where there is much", async () => {
    const rows = circle(temporaryPath(), 5_500);
    const nearest = await carried(rows);
    expect(nearest.state()).toMatchObject({ indexedCount: 4_096, comparedCount: 1_404 });
    await nearest.carry(signal);
    expect(nearest.state()).toMatchObject({ indexedCount: 5_500, comparedCount: 0 });
  });

  test("lets other work in between, which finds everything", async () => {
    const rows = circle(":memory:", 2_000);
    const nearest = nearestOf(rows);
    let isDone = false;
    const carrying = nearest.carry(signal).finally(() => {
      isDone = true;
    });
    let looks = 0;
    for (; !isDone; looks++) {
      if (looks === 10) turn(rows, 9_000, 0);
      expect(rootsNear(nearest, 3)).toEqual(looks < 10 ? [1, 2, 3] : [1, 9_000, 2]);
      await new Promise(setImmediate);
    }
    await carrying;
    expect(looks).toBeGreaterThan(20);
  });

  test("stops when it is aborted, and what is carried by then is found", async () => {
    const rows = circle(temporaryPath(), 2_000);
    const nearest = nearestOf(rows);
    rootsNear(nearest, 1);
    const controller = new AbortController();
    const carrying = nearest.carry(controller.signal);
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
    controller.abort(new Error("enough"));
    await expect(carrying).rejects.toThrow("enough");
    const { indexedCount, comparedCount } = nearest.state();
    expect(indexedCount).toBeGreaterThan(0);
    expect(indexedCount + comparedCount).toBe(2_000);
    expect(rootsNear(nearest, 3)).toEqual([1, 2, 3]);
    await expect(nearest.carry(AbortSignal.abort(new Error("closed")))).rejects.toThrow("closed");
  });

  test("is done once at a time", async () => {
    const rows = circle(temporaryPath(), 1_000);
    const nearest = nearestOf(rows);
    rootsNear(nearest, 1);
    await Promise.all([nearest.carry(signal), nearest.carry(signal)]);
    expect(nearest.state()).toMatchObject({ indexedCount: 1_000 });
  });

  test("by another process is noticed where it pays", async () => {
    const rows = circle(temporaryPath(), 2_000);
    const other = nearestOf(rows);
    expect(other.state()).toMatchObject({ indexedCount: 0, comparedCount: 2_000 });
    await carried(rows);
    expect(other.state()).toMatchObject({ indexedCount: 2_000, comparedCount: 0 });
  });
});

describe("an index file that is lost or damaged", () => {
  test("has 96 bytes of hnswlib's header where it has no cluster", () => {
    const { HierarchicalNSW } = loadHnswlib() as Hnswlib;
    const empty = new HierarchicalNSW("ip", 8);
    empty.initIndex(1);
    const path = temporaryPath();
    empty.writeIndexSync(path);
    expect(statSync(path).size).toBe(96);
  });

  const DAMAGES: [string, (path: string) => void][] = [
    ["is missing", (path) => rmSync(`${path}-coppice-ann.hnsw`)],
    ["was cut off", (path) => truncateSync(`${path}-coppice-ann.hnsw`, 50_000)],
    ["has another bit", (path) => turnBit(`${path}-coppice-ann.hnsw`, 50_000)],
    ["has lost its sidecar", (path) => rmSync(`${path}-coppice-ann.json`)],
    ["has a sidecar with another digit", (path) => turnBit(`${path}-coppice-ann.json`, 200)],
  ];

  function turnBit(path: string, at: number): void {
    const bytes = readFileSync(path);
    bytes[at]! ^= 1;
    writeFileSync(path, bytes);
  }

  test.each(DAMAGES)(
    "is written anew by a process that nobody asks, and by one that has it in memory: it %s",
    async (_, damage) => {
      const rows = circle(temporaryPath(), 1_000);
      const holder = await carried(rows);
      for (const nearest of [nearestOf(rows), holder]) {
        damage(rows.path);
        await nearest.carry(signal);
        expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 1_000, comparedCount: 0, refusal: undefined });
      }
    },
  );

  test("could not be written, and is as soon as that can be done, though nothing waits for it", async () => {
    const rows = circle(temporaryPath(), 1_000);
    mkdirSync(`${rows.path}-coppice-ann.hnsw`);
    const nearest = await carried(rows);
    const reason = expect.stringContaining("EISDIR");
    expect(nearest.state()).toMatchObject({ indexedCount: 1_000, saveFailure: { reason, cause: "other" } });
    rmdirSync(`${rows.path}-coppice-ann.hnsw`);
    await nearest.carry(signal);
    expect(nearest.state()).toMatchObject({ indexedCount: 1_000, saveFailure: undefined });
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 1_000, comparedCount: 0 });
  });

  test("is not put in place half written, and goes on being tried, though what was written before could be used", async () => {
    const rows = circle(temporaryPath(), 1_000);
    let isFull = false;
    const library = loadHnswlib() as Hnswlib;
    class FillingDisk extends library.HierarchicalNSW {
      override async writeIndex(path: string): Promise<boolean> {
        await super.writeIndex(path);
        if (isFull) truncateSync(path, 10_000);
        return true;
      }
    }
    const nearest = new NearestClusters(rows, rows, () => ({ ...library, HierarchicalNSW: FillingDisk }));
    await nearest.carry(signal);
    for (let root = 2_001; root <= 3_000; root++) turn(rows, root, -(root - 2_000), true);
    isFull = true;
    await nearest.carry(signal);
    expect(nearest.state().saveFailure).toEqual({ reason: "it was cut off", cause: "disk full" });
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 1_000, waitingCount: 1_000 });
    expect(readdirSync(dirname(rows.path))).toHaveLength(2);
    isFull = false;
    await nearest.carry(signal);
    expect(nearestOf(rows).state()).toMatchObject({ indexedCount: 2_000, waitingCount: 0 });
  });
});

describe("where it cannot be as it should", () => {
  test("a damaged row is no failure of the background, but of those who ask", async () => {
    const rows = circle(temporaryPath(), 1_500);
    rows.everyCentroid = () => {
      throw new StoreError("STORE_CORRUPT", { path: rows.path, reason: "no vector" });
    };
    const nearest = nearestOf(rows);
    await expect(nearest.carry(signal)).resolves.toBeUndefined();
    expect(() => rootsNear(nearest, 1)).toThrow("no vector");
  });

  test("a cluster that the graph nominates and the store lacks ends the graph: all are compared, and none is left out", async () => {
    const rows = circle(temporaryPath(), 1_500);
    const nearest = await carried(rows);
    (rows.rows as Map<number, unknown>).delete(2);
    expect(rootsNear(nearest, 3)).toEqual([1, 3, 4]);
    expect(nearest.state()).toMatchObject({ indexedCount: 0, comparedCount: 1_499 });
  });

  test("a cluster that the graph nominates and an index of the store lacks is damage", async () => {
    const rows = circle(temporaryPath(), 1_500);
    const nearest = await carried(rows);
    const one = rows.centroids.bind(rows);
    rows.centroids = (roots) => one([...roots].filter((root) => root !== 2)); // its index lacks it
    rows.everyCentroid = () => {
      throw new StoreError("STORE_CORRUPT", { path: rows.path, reason: "1499 clusters are found" });
    };
    expect(() => rootsNear(nearest, 3)).toThrow("1499 clusters are found");
  });

  test("everything is compared without the native library", async () => {
    const rows = circle(temporaryPath(), 1_500);
    const nearest = new NearestClusters(rows, rows, () => new Error("not compiled"));
    await nearest.carry(signal);
    expect(rootsNear(nearest, 3)).toEqual([1, 2, 3]);
    expect(nearest.state()).toMatchObject({ indexedCount: 0, comparedCount: 1_500, libraryError: "not compiled" });
  });

  test.runIf(process.getuid?.() !== 0)(
    "a folder that may not be written to costs the file and nothing else",
    async () => {
      const rows = circle(temporaryPath(), 1_000);
      chmodSync(dirname(rows.path), 0o500);
      const nearest = await carried(rows);
      chmodSync(dirname(rows.path), 0o700);
      expect(nearest.state()).toMatchObject({ indexedCount: 1_000 });
      expect(nearest.state().saveFailure).toEqual({
        reason: expect.stringContaining("EACCES"),
        cause: "no permission",
      });
    },
  );

  test("a missing folder costs the file and nothing else", async () => {
    const nearest = await carried(circle(join(temporaryFolder(), "gone", "agent.db"), 1_000));
    expect(nearest.state()).toMatchObject({ indexedCount: 1_000 });
    expect(nearest.state().saveFailure).toEqual({ reason: expect.stringContaining("ENOENT"), cause: "other" });
    expect(rootsNear(nearest, 2)).toEqual([1, 2]);
  });
});

describe("the best of many", () => {
  test("come best first, ties to the older root", () => {
    const best = new Best(3);
    for (const [root, similarity] of [
      [9, 0.5],
      [4, 0.5],
      [7, 0.9],
      [5, 0.1],
      [6, 0.5],
    ] as const)
      best.offer(root, similarity);
    expect(best.list()).toEqual([
      { root: 7, similarity: 0.9 },
      { root: 4, similarity: 0.5 },
      { root: 6, similarity: 0.5 },
    ]);
  });

  test("are cosines, although products of unit vectors overshoot", () => {
    const best = new Best(2);
    best.offer(1, 1.0000001);
    best.offer(2, -1.0000001);
    expect(best.list()).toEqual([
      { root: 1, similarity: 1 },
      { root: 2, similarity: -1 },
    ]);
  });
});
