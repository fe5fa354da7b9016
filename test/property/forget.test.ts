import fc from "fast-check";
import { expect, test } from "vitest";
import { type DecidedRow, Forest, replay } from "../../src/forest/forest.ts";
import { logWithout } from "../../src/forest/forget.ts";
import { expectSeen, runs } from "../support/effort.ts";
import { rootsOf } from "../support/forest-steps.ts";

/**
 * Goal: whatever is forgotten, the log that remains can be applied, and puts the steps that remain together exactly as they
 * were, cluster by cluster and theme by theme.
 * Method: grow a random log (steps start clusters or join one; now and then a cluster settles or two themes unite); forget
 * random steps; compare the partitions that both logs give with the forgotten steps taken out of the sets by hand. What is
 * forgotten in two goes must be what is forgotten in one.
 */
test("parts what is left exactly as it was", () => {
  const deed = fc.record({ kind: fc.nat(9), which: fc.nat(), other: fc.nat() });
  const seen = { emptied: 0, renamed: 0, unites: 0 };
  fc.assert(
    fc.property(
      fc.array(deed, { minLength: 5, maxLength: 80, size: "max" }),
      fc.array(fc.nat(4), { minLength: 80, maxLength: 80 }),
      (deeds, fates) => {
        const rows = grownLog(deeds);
        const steps = rows.filter(({ kind }) => kind === "start" || kind === "join").map(({ node }) => node);
        const gone = new Set(steps.filter((_, index) => fates[index % fates.length]! < 2));
        const left = logWithout(rows, gone);
        const { forest, refused } = replay(left);
        expect(refused).toBeUndefined();
        for (const level of ["cluster", "theme"] as const) {
          const before = partition(rows, replay(rows).forest, level).map((set) =>
            set.filter((step) => !gone.has(step)),
          );
          expect(partition(left, forest, level)).toEqual(sorted(before.filter((set) => set.length > 0)));
        }
        const half = new Set([...gone].filter((_, index) => index % 2 === 0));
        expect(logWithout(logWithout(rows, half), gone)).toEqual(left);
        expect(left.every(({ id }) => rows.some((row) => row.id === id))).toBe(true);

        const clusters = new Set(rows.filter(({ kind }) => kind === "start").map(({ root }) => root));
        seen.emptied += clusters.size - left.filter(({ kind }) => kind === "start").length;
        seen.renamed += left.filter(({ kind, root }) => kind === "start" && !clusters.has(root)).length;
        seen.unites += left.filter(({ kind }) => kind === "unite").length;
      },
    ),
    { numRuns: runs(150) },
  );
  expectSeen(seen, { emptied: 150, renamed: 150, unites: 150 });
});

function grownLog(deeds: readonly { kind: number; which: number; other: number }[]): DecidedRow[] {
  const rows: DecidedRow[] = [];
  const forest = new Forest();
  let step = 100;
  const add = (row: Omit<DecidedRow, "id" | "score">): void => {
    const full = { id: rows.length + 1, ...row, score: null };
    expect(forest.apply(full)).toBeUndefined();
    rows.push(full);
  };
  for (const { kind, which, other } of deeds) {
    const settled = rows.filter(({ kind }) => kind === "settle").map(({ root }) => root);
    const open = rootsOf(rows, forest, "cluster").filter((root) => !settled.includes(root));
    const themes = rootsOf(rows, forest, "theme");
    step += 1;
    if (kind === 0 && open.length > 0) {
      const root = open[which % open.length]!;
      add({ level: "cluster", kind: "settle", node: root, root });
    } else if (kind <= 2 && themes.length > 1) {
      const [a, b] = [themes[which % themes.length]!, themes[other % themes.length]!];
      if (a === b) continue;
      const sizeOf = (theme: number) =>
        rows.filter(({ kind, node }) => kind === "start" && forest.find(node)?.theme === theme).length;
      const aStays = sizeOf(a) > sizeOf(b) || (sizeOf(a) === sizeOf(b) && a < b);
      add({ level: "theme", kind: "unite", node: aStays ? b : a, root: aStays ? a : b });
    } else if (kind <= 6 && open.length > 0) {
      add({ level: "cluster", kind: "join", node: step, root: open[which % open.length]! });
    } else {
      add({ level: "cluster", kind: "start", node: step, root: step });
    }
  }
  return rows;
}

function partition(log: readonly DecidedRow[], forest: Forest, level: "cluster" | "theme"): number[][] {
  const steps = log.filter(({ kind }) => kind === "start" || kind === "join").map(({ node }) => node);
  return sorted(rootsOf(log, forest, level).map((root) => steps.filter((step) => forest.find(step)![level] === root)));
}

function sorted(sets: readonly (readonly number[])[]): number[][] {
  return sets.map((set) => [...set].sort((a, b) => a - b)).sort(([a], [b]) => a! - b!);
}
