import { describe, expect, test } from "vitest";
import { type LogRow, replay } from "../../../src/forest/forest.ts";

/** `start 1`, `join 2 1`, `settle 1`, `unite 1 2` (the first absorbed by the second), at positions 1, 2, 3 … */
function log(...lines: string[]): LogRow[] {
  return lines.map((line, index) => {
    const [kind, node, root] = line.split(" ") as [LogRow["kind"], string, string?];
    return {
      id: index + 1,
      level: kind === "unite" ? "theme" : "cluster",
      kind,
      node: Number(node),
      root: Number(root ?? node),
    };
  });
}

const forestOf = (...lines: string[]) => {
  const { forest, refused } = replay(log(...lines));
  expect(refused).toBeUndefined();
  return forest;
};

//   10 ─ 10 12          positions: 1 start 10, 2 start 11, 3 join 12→10, 4 start 13,
//   11 ─ 11             5 unite 11→10, 6 start 14, 7 unite 14→13, 8 unite 13→10, 9 join 15→11
//   13 ─ 13
//   14 ─ 14
const GROWN = [
  "start 10",
  "start 11",
  "join 12 10",
  "start 13",
  "unite 11 10",
  "start 14",
  "unite 14 13",
  "unite 13 10",
  "join 15 11",
];

describe("Forest", () => {
  test("points steps to their cluster, roots to what absorbed them, and never past it", () => {
    const forest = forestOf(...GROWN);
    expect([10, 12, 11, 15, 14, 13, 99].map((step) => forest.parentOf(step))).toEqual([
      10,
      10,
      10,
      11,
      13,
      10,
      undefined,
    ]);
  });

  test("answers as of any position", () => {
    const forest = forestOf(...GROWN);
    expect(forest.find(14, 6)).toEqual({ cluster: 14, theme: 14 });
    expect(forest.find(14, 7)).toEqual({ cluster: 14, theme: 13 });
    expect(forest.find(14, 5)).toBeUndefined();
    expect(forest.find(99)).toBeUndefined();
    expect(forest.find(11, 4)).toEqual({ cluster: 11, theme: 11 });
    expect(forest.find(11, 5)).toEqual({ cluster: 11, theme: 10 });
  });
});

describe("replay", () => {
  test.each([
    ["the step has entered already", ["start 10", "start 10"]],
    ["the step has entered already", ["start 10", "start 11", "join 11 10"]],
    ["a step starts a cluster under a root that is not its own", ["start 10 11"]],
    ["no cluster has this root", ["start 10", "join 11 12"]],
    ["no cluster has this root", ["settle 10"]],
    ["the cluster has settled", ["start 10", "settle 10", "join 11 10"]],
    ["the cluster has settled already", ["start 10", "settle 10", "settle 10"]],
    ["no theme has this root", ["start 10", "unite 11 10"]],
    ["a theme cannot absorb itself", ["start 10", "unite 10 10"]],
    ["one of the roots is no theme's root any more", ["start 1", "start 2", "start 3", "unite 2 1", "unite 3 2"]],
    ["one of the roots is no theme's root any more", ["start 1", "start 2", "start 3", "unite 2 1", "unite 2 3"]],
  ])("stops where %s", (reason, lines) => {
    const rows = log(...lines);
    const { forest, refused } = replay(rows);
    expect(refused).toEqual({ row: rows.at(-1), reason });
    expect(forest.apply({ id: lines.length, level: "cluster", kind: "start", node: 99, root: 99 })).toBeUndefined();
  });

  test("does not ask which theme is larger: forgetting may have made it the smaller one", () => {
    expect(replay(log("start 1", "start 2", "start 3", "unite 3 2", "unite 2 1")).refused).toBeUndefined();
  });

  test("refuses rows out of order, and a kind of the other level", () => {
    const [start, unite] = log("start 1", "unite 2 1") as [LogRow, LogRow];
    expect(replay([start, start]).refused?.reason).toBe("its position is not after 1");
    expect(replay([start, { ...unite, level: "cluster" }]).refused?.reason).toBe("a cluster does not unite");
    expect(replay([{ ...start, level: "theme" }]).refused?.reason).toBe("a theme does not start");
  });

  test("leaves the forest as it was before the row", () => {
    const { forest } = replay(log("start 1", "start 2", "unite 2 1", "start 3", "unite 1 2"));
    expect(forest.find(1)).toEqual({ cluster: 1, theme: 1 });
    expect(forest.apply({ id: 9, level: "theme", kind: "unite", node: 3, root: 1 })).toBeUndefined();
  });
});
