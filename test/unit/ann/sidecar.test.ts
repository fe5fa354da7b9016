import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { formatSidecar, parseSidecar, type Sidecar, samplesOf } from "../../../src/ann/sidecar.ts";
import { ClusterRows } from "../../support/cluster-rows.ts";

const content: Omit<Sidecar, "form"> = {
  stamp: { generation: 1, createdAtMs: 2, embedderId: "e", dimension: 3, rewriteCount: 4 },
  position: 5,
  sha256: "7",
  roots: [[8, 9], [], [10]],
  samples: [{ root: 8, position: 5, sha256: "9" }],
};

describe("a sidecar", () => {
  test("says what it was told", () => {
    expect(parseSidecar(formatSidecar(content))).toEqual({ form: expect.objectContaining({ links: 16 }), ...content });
  });

  test("of which any character was changed is none", () => {
    const text = formatSidecar(content);
    expect(parseSidecar(text.replace("[8,9]", "[8,7]"))).toBeUndefined();
    expect(parseSidecar(text.replace('"position":5', '"position":6'))).toBeUndefined();
    expect(parseSidecar(text.slice(0, -3))).toBeUndefined();
  });

  test("of another form is none", () => {
    const { index } = JSON.parse(formatSidecar(content)) as { index: Sidecar };
    const signed = (form: object): string => {
      const changed = { ...index, form: { ...index.form, ...form } };
      return JSON.stringify({ sha256: hash("sha256", JSON.stringify(changed)), index: changed });
    };
    expect(parseSidecar(signed({}))).toEqual(index);
    expect(parseSidecar(signed({ format: 1 }))).toBeUndefined();
    expect(parseSidecar(signed({ arch: "pdp11" }))).toBeUndefined();
    expect(parseSidecar(signed({ links: 17 }))).toBeUndefined();
  });

  test.each(["", "null", "7", "[]", "{}", '{"index":null}', '{"sha256":"0","index":{}}'])(
    "that reads %s is none",
    (text) => {
      expect(parseSidecar(text)).toBeUndefined();
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
