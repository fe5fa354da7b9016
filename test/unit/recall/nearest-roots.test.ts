import { beforeEach, describe, expect, test } from "vitest";
import { coordinateEmbedder } from "../../../scripts/bench/index-fuzz/store.ts";
import type { Session, Store } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const OPTIONS = { embedder: coordinateEmbedder(2), clock: () => 1_700_000_000_000 };

let store: Store;
let session: Session;

/**
 * Messages 1 to 4 in clusters of their own, as they point in four directions, and 5 again where 2 is; 6 is hot.
 *
 *     log   1 start 1   2 start 2   3 start 3   4 start 4   5 join 5→2   (between them themes unite)
 */
beforeEach(() => {
  store = openedStore(temporaryPath(), OPTIONS);
  session = store.session("s", { hotSize: 1, overlap: 0 });
  for (const text of ["1 0", "3 4", "0 1", "-1 0", "30 40", "1 0"]) session.append(user(text));
  session.compact();
});

describe("nearestRoots", () => {
  test("gives the clusters nearest to a vector, with where they are and how large", () => {
    const found = store.nearestRoots([1, 0]);
    expect(found.map(({ root }) => root)).toEqual(["cluster:1@1", "cluster:2@5", "cluster:3@3", "cluster:4@4"]);
    expect(found.map(({ size }) => size)).toEqual([1, 2, 1, 1]);
    expect(found.map(({ similarity }) => Number(similarity.toFixed(2)))).toEqual([1, 0.6, 0, -1]);
    expect(found[0]).toEqual({ root: "cluster:1@1", level: "cluster", sessionId: "s", size: 1, similarity: 1 });
  });

  test("takes a text for what the embedder makes of it", () => {
    expect(store.nearestRoots("0 5", { k: 2 })).toEqual(store.nearestRoots(Float32Array.of(0, 5), { k: 2 }));
    expect(store.nearestRoots("without coordinates")).toEqual([]);
    expect(store.nearestRoots("")).toEqual([]);
  });

  test("finds a cluster as soon as it is there, in every process", () => {
    const reader = openedStore(store.path, { ...OPTIONS, readonly: true });
    for (const one of [store, reader]) expect(one.nearestRoots([-1, -1], { k: 1 })[0]!.root).toBe("cluster:4@4");
    session.append(user("-2 -2"));
    session.append(user("1 0"));
    session.compact();
    for (const one of [store, reader]) {
      const [first] = one.nearestRoots([-1, -1], { k: 1 });
      expect(first).toMatchObject({ sessionId: "s", size: 1 });
      expect(first!.similarity).toBeCloseTo(1, 6);
    }
  });

  test("finds those of all sessions", () => {
    const other = store.session("other", { hotSize: 1, overlap: 0 });
    for (const text of ["-5 -5", "1 0"]) other.append(user(text));
    other.compact();
    expect(store.nearestRoots([-1, -1], { k: 1 })[0]).toMatchObject({ sessionId: "other" });
  });

  test("finds nothing in an empty store", () => {
    const empty = openedStore(temporaryPath(), OPTIONS);
    expect(empty.nearestRoots("1 0")).toEqual([]);
    expect(empty.nearestRoots([1, 0], { exact: true })).toEqual([]);
  });

  test.each([
    ["of another dimension", [1, 0, 0]],
    ["without numbers", []],
    ["with NaN", [1, Number.NaN]],
    ["with an infinite number", [Number.POSITIVE_INFINITY, 0]],
    ["with a number past 32 bits", [1e39, 0]],
    ["of zeros", [0, 0]],
    ["of numbers that are zero in 32 bits", [1e-50, 0]],
    ["of bigints", [1n, 0n]],
    ["of texts", ["1", "0"]],
    ["with null", [1, null]],
  ])("refuses a vector %s", (_, vector) => {
    expect(() => store.nearestRoots(vector as never)).toThrow(expect.objectContaining({ code: "VECTOR_INVALID" }));
  });

  test("says what is wrong with a vector", () => {
    expect(() => store.nearestRoots([1, 0, 0])).toThrow("its dimension is not the store's (expected 2, got 3)");
    expect(() => store.nearestRoots([1, Number.NaN])).toThrow("not all its numbers are finite");
    expect(() => store.nearestRoots([0, 0])).toThrow("all its numbers are zero");
  });

  test.each([0, -1, 1.5, Number.NaN, 10_001, "3"])("refuses k = %s", (k) => {
    expect(() => store.nearestRoots([1, 0], { k: k as number })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  test("refuses what is neither a text nor numbers, and what is neither true nor false", () => {
    for (const target of [undefined, null, 7, {}, new Float64Array([1, 0])]) {
      expect(() => store.nearestRoots(target as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    }
    expect(() => store.nearestRoots([1, 0], { exact: 1 as never })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });

  test("compares no text of one embedder with clusters of another", () => {
    const reader = openedStore(store.path, { readonly: true });
    expect(() => reader.nearestRoots("1 0")).toThrow(expect.objectContaining({ code: "EMBEDDER_MISMATCH" }));
    expect(reader.nearestRoots([1, 0], { k: 1 })[0]!.root).toBe("cluster:1@1");
  });
});
