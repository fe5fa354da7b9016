import fc from "fast-check";
import { expect, test } from "vitest";
import { Forest, type LogRow } from "../../src/forest/forest.ts";
import { rootsOf } from "../support/forest-steps.ts";
import { OracleForest } from "../support/oracle-forest.ts";

const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("start" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("join" as const), a: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("settle" as const), a: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("unite" as const), a: fc.nat(), b: fc.nat() }) },
);

/**
 * Goal: no history of starts, joins, settles and unites makes the forest disagree with plain lists, at the end or as of
 * any position on the way; and no path grows longer than the sizes allow.
 * Method: drive both with the same random history of possible events; afterwards ask about every root and step as of every
 * fifth position and the last.
 */
test("agrees with plain lists about every position of any history", () => {
  let stepCountMax = 0;
  let depthMax = 0;
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80, size: "max" }), (history) => {
      const forest = new Forest();
      const oracle = new OracleForest();
      const settled = new Set<number>();
      let position = 0;
      let nextStep = 1;
      const log: LogRow[] = [];
      const apply = (decision: Omit<LogRow, "id" | "level">) => {
        position += 1 + (position % 3); // positions of other sessions lie between
        const row = { id: position, level: decision.kind === "unite" ? "theme" : "cluster", ...decision } as const;
        expect(forest.apply(row)).toBeUndefined();
        log.push(row);
      };

      for (const { kind, ...choice } of history) {
        const open = oracle.entries.flatMap(({ step, cluster }) =>
          step === cluster && !settled.has(step) ? [step] : [],
        );
        const pick = <T>(list: readonly T[], n: number) => list[n % list.length]!;
        if (kind === "start" || open.length === 0) {
          const step = nextStep++;
          apply({ kind: "start", node: step, root: step });
          oracle.enter(step, step, position);
        } else if (kind === "join" && "a" in choice) {
          const step = nextStep++;
          const root = pick(open, choice.a);
          apply({ kind: "join", node: step, root });
          oracle.enter(step, root, position);
        } else if (kind === "settle" && "a" in choice) {
          const root = pick(open, choice.a);
          apply({ kind: "settle", node: root, root });
          settled.add(root);
        } else if ("b" in choice) {
          const roots = oracle.themeRoots(position);
          const [a, b] = [pick(roots, choice.a), pick(roots, choice.b)];
          if (a === b) continue;
          const sizeOf = (root: number) => oracle.clustersUnder(root, position).size;
          const aStays = sizeOf(a) > sizeOf(b) || (sizeOf(a) === sizeOf(b) && a < b);
          const [root, absorbed] = aStays ? [a, b] : [b, a];
          apply({ kind: "unite", node: absorbed, root });
          oracle.unite(absorbed, root, position);
        }
      }

      for (const asOf of [...Array(position).keys()].filter((at) => at % 5 === 0).concat(position)) {
        const roots = oracle.themeRoots(asOf);
        expect(rootsOf(log, forest, "theme", asOf)).toEqual(roots);
        for (const root of roots) {
          for (const step of oracle.stepsOfTheme(root, asOf)) expect(forest.find(step, asOf)?.theme).toBe(root);
        }
      }
      for (const { step } of oracle.entries) {
        let depth = 0;
        for (let node = step; forest.parentOf(node) !== node; depth++) node = forest.parentOf(node)!;
        expect(depth).toBeLessThanOrEqual(1 + Math.log2(log.filter(({ kind }) => kind === "start").length));
        depthMax = Math.max(depthMax, depth);
      }
      stepCountMax = Math.max(stepCountMax, oracle.entries.length);
    }),
  );
  expect(stepCountMax).toBeGreaterThan(40);
  expect(depthMax).toBeGreaterThanOrEqual(3); // a step, its cluster's root, and two roots above
});
