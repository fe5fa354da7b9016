import { describe, expect, test } from "vitest";
import { Best } from "../../../src/ann/best.ts";
import { CentroidTable } from "../../../src/ann/centroid-table.ts";

const vector = (...numbers: number[]) => new Float32Array(numbers);

function tableOf(rows: readonly [root: number, x: number, y: number][]): CentroidTable {
  const table = new CentroidTable(2);
  for (const [root, x, y] of rows) table.put({ root, position: root, settled: false, vector: vector(x, y) });
  return table;
}

function ranked(table: CentroidTable, accepts?: (root: number) => boolean): [number, number][] {
  const best = new Best(10);
  table.offerTo(best, vector(1, 0), accepts);
  return best.list().map(({ root, similarity }) => [root, similarity]);
}

describe("a table of centroids", () => {
  test("compares each of them", () => {
    const table = tableOf([
      [3, 0, 1],
      [5, 1, 0],
      [8, -1, 0],
    ]);
    expect(ranked(table)).toEqual([
      [5, 1],
      [3, 0],
      [8, -1],
    ]);
    expect(ranked(table, (root) => root !== 5)).toEqual([
      [3, 0],
      [8, -1],
    ]);
  });

  test("takes what has become of a cluster in its place", () => {
    const table = tableOf([
      [3, 0, 1],
      [5, 1, 0],
    ]);
    table.put({ root: 3, position: 9, settled: true, vector: vector(1, 0) });
    expect(table.count).toBe(2);
    expect(table.get(3)).toEqual({ root: 3, position: 9, settled: true, vector: vector(1, 0) });
    expect(ranked(table)).toEqual([
      [3, 1],
      [5, 1],
    ]);
  });

  test("closes the gap that one leaves", () => {
    const table = tableOf([
      [3, 0, 1],
      [5, 1, 0],
      [8, -1, 0],
    ]);
    table.delete(3);
    table.delete(3);
    table.delete(4);
    expect(ranked(table)).toEqual([
      [5, 1],
      [8, -1],
    ]);
    expect(table.has(3)).toBe(false);
    table.delete(8);
    table.delete(5);
    expect(ranked(table)).toEqual([]);
  });

  test("grows with what comes", () => {
    const table = tableOf(Array.from({ length: 1_000 }, (_, index) => [index + 1, index === 700 ? 1 : 0, 0]));
    expect(table.count).toBe(1_000);
    expect(ranked(table)[0]).toEqual([701, 1]);
  });

  test("gives back what is not needed any more", () => {
    const table = tableOf(Array.from({ length: 1_000 }, (_, index) => [index + 1, index === 7 ? 1 : 0, 0]));
    const roomFor = () => table.get(8)!.vector.buffer.byteLength / (2 * Float32Array.BYTES_PER_ELEMENT);
    expect(roomFor()).toBe(1_024);
    for (let root = 1_000; root > 256; root--) table.delete(root);
    expect(roomFor()).toBe(1_024);
    table.delete(256);
    expect(roomFor()).toBe(512);
    for (let root = 255; root > 8; root--) table.delete(root);
    for (let root = 1; root < 8; root++) table.delete(root);
    expect(roomFor()).toBe(64);
    expect(ranked(table)).toEqual([[8, 1]]);
  });
});
