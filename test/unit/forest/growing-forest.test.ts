import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { GrowingForest } from "../../../src/forest/growing-forest.ts";
import { stepAt } from "../../support/forest-steps.ts";

const DIMENSION = 2;

/** A forest of two clusters in one theme, rooted at 100. */
function twoClusters(): GrowingForest {
  const forest = new GrowingForest(DIMENSION);
  forest.apply({ id: 1, kind: "start", level: "cluster", node: 100, root: 100 }, stepAt(0, { vector: [1, 0] }));
  forest.apply({ id: 2, kind: "start", level: "cluster", node: 101, root: 101 }, stepAt(1, { vector: [1, 0] }));
  forest.apply({ id: 3, kind: "unite", level: "theme", node: 101, root: 100 });
  return forest;
}

test("a forest goes on from another, which stays as it is", () => {
  const before = twoClusters();
  const after = before.continued();
  after.apply({ id: 4, kind: "join", level: "cluster", node: 102, root: 101 }, stepAt(2, { vector: [0, 1] }));
  expect(after.themeOf(101)).toBe(100);
  expect(after.themes.get(100)).toMatchObject({ theme: { messageCount: 3 }, logPosition: 4 });
  expect(before.themes.get(100)).toMatchObject({ theme: { messageCount: 2 }, logPosition: 3 });
  expect(before.open.get(101)).toMatchObject({ messageCount: 1 });
});

test("a forest does not hold those it went on from", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const dropped: WeakRef<GrowingForest>[] = [];
  let forest = twoClusters();
  for (let move = 0; move < 10; move++) {
    forest = forest.continued();
    forest.apply(
      { id: 4 + move, kind: "join", level: "cluster", node: 102 + move, root: 101 },
      stepAt(2 + move, { vector: [0, 1] }),
    );
    if (move < 8) dropped.push(new WeakRef(forest));
  }
  await new Promise((resolve) => setImmediate(resolve)); // a WeakRef holds its target until the current job ends
  collect();
  expect(dropped.filter((ref) => ref.deref() !== undefined)).toHaveLength(0);
  expect(forest.themeOf(101)).toBe(100);
});
