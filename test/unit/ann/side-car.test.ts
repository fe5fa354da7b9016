import { describe, expect, test } from "vitest";
import { formatSideCar, parseSideCar, samplesOf, sideCarOf } from "../../../src/ann/side-car.ts";
import { ClusterRows } from "../../support/cluster-rows.ts";

const sideCar = sideCarOf({
  stamp: { generation: 1, createdAtMs: 2, embedderId: "e", dimension: 3, rewriteCount: 4 },
  position: 5,
  byteLength: 6,
  sha256: "7",
  roots: [[8, 9], [], [10]],
  samples: [{ root: 8, sha256: "9" }],
});

describe("a side-car", () => {
  test("says what it was told", () => {
    expect(parseSideCar(formatSideCar(sideCar))).toEqual(sideCar);
    expect(sideCar).toMatchObject({ format: 1, space: "ip", links: 16, efConstruction: 200 });
  });

  test("of which any character was changed is none", () => {
    const text = formatSideCar(sideCar);
    expect(parseSideCar(text.replace("[8,9]", "[8,7]"))).toBeUndefined();
    expect(parseSideCar(text.replace('"position":5', '"position":6'))).toBeUndefined();
    expect(parseSideCar(text.slice(0, -3))).toBeUndefined();
  });

  test("of another format is none", () => {
    expect(parseSideCar(formatSideCar({ ...sideCar, format: 2 }))).toBeUndefined();
    expect(parseSideCar(formatSideCar({ ...sideCar, space: "l2" }))).toBeUndefined();
    expect(parseSideCar(formatSideCar({ ...sideCar, links: 17 }))).toBeUndefined();
  });

  test.each(["", "null", "7", "[]", "{}", '{"index":null}', '{"sha256":"0","index":{}}'])(
    "that reads %s is none",
    (text) => {
      expect(parseSideCar(text)).toBeUndefined();
    },
  );
});

describe("samples", () => {
  const rows = new ClusterRows(":memory:");
  for (let root = 1; root <= 1_000; root++) rows.change(root, [root, 1]);

  test("are spread over all clusters, and hold the newest", () => {
    const roots = samplesOf(rows.roots(), rows).map(({ root }) => root);
    // 64 evenly spaced, of which those past 936 are among the 64 newest.
    expect(roots.slice(0, 4)).toEqual([1, 16, 32, 47]);
    for (let root = 937; root <= 1_000; root++) expect(roots).toContain(root);
    expect(new Set(roots).size).toBe(roots.length);
  });

  test("are all of them where there are few", () => {
    expect(samplesOf([5, 9], rows).map(({ root }) => root)).toEqual([5, 9]);
  });

  test("tell one vector from another, and one position from another", () => {
    const [one] = samplesOf([5], rows);
    rows.change(5, [5, 1]); // the same vector, later
    const [later] = samplesOf([5], rows);
    expect(later).not.toEqual(one);
    const other = new ClusterRows(":memory:");
    other.pass(rows.newestPosition() - 1);
    other.change(5, [5, 1]);
    expect(samplesOf([5], other)).toEqual([later]);
    const turned = new ClusterRows(":memory:");
    turned.pass(rows.newestPosition() - 1);
    turned.change(5, [5, 2]);
    expect(samplesOf([5], turned)).not.toEqual([later]);
  });
});
