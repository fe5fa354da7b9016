import fc from "fast-check";
import { expect, test } from "vitest";
import { isFull, type OpenCluster, type StepFeatures } from "../../src/forest/cluster.ts";
import { type DecidedRow, replay } from "../../src/forest/forest.ts";
import { GrowingForest, type GrowingTheme } from "../../src/forest/growing-forest.ts";
import { StepPlacer } from "../../src/forest/step-placer.ts";
import { decodeVector, encodeVector } from "../../src/vector/codec.ts";
import { normalize } from "../../src/vector/vector.ts";
import { runs, seenInRuns } from "../support/effort.ts";
import { rootsOf } from "../support/forest-steps.ts";

const DIMENSION = 4;

const vector = fc
  .array(fc.integer({ min: -3, max: 9 }), { minLength: DIMENSION, maxLength: DIMENSION })
  .map((numbers) => (numbers.every((x) => x === 0) ? undefined : normalize(new Float32Array(numbers))));

const session = fc
  .array(
    fc.record({
      embeddings: fc.array(vector, { minLength: 1, maxLength: 3 }),
      tokenCount: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 1, max: 900 }) },
        { weight: 1, arbitrary: fc.constant(20_000) },
      ),
      opensTurn: fc.boolean(),
      speaker: fc.option(fc.constantFrom("ann", "bob", "cem", "dia", "eve"), { nil: undefined, freq: 4 }),
      text: fc.constantFrom("", "bob: yes", "@dia and ann", "nobody"),
      minutes: fc.integer({ min: 0, max: 6 }),
      /** Another process takes over before this step. */
      resumes: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    }),
    { maxLength: 90, size: "max" },
  )
  .map((steps) => {
    let [seq, turn, createdAtMs] = [0, -1, 0];
    return steps.map(({ opensTurn, minutes, resumes, ...step }) => {
      const seqFirst = seq;
      if (opensTurn) turn = seqFirst;
      createdAtMs += minutes * 60_000;
      seq += step.embeddings.length;
      const features: StepFeatures = {
        ...step,
        id: seqFirst + 1000,
        seqFirst,
        seqLast: seq - 1,
        seqBefore: seqFirst - 1,
        messageCount: step.embeddings.length,
        turn,
        goesOn: false,
        createdAtMs,
      };
      return { features, resumes };
    });
  });

const OPTIONS = { similarityMin: 0.35, openClustersMax: 5, maxThemes: 7 };

/** One process that lets steps in. What it holds can be written to rows, and read back in any order. */
class Process {
  readonly log: DecidedRow[] = [];
  #decision = new StepPlacer(new GrowingForest(DIMENSION), 0, OPTIONS);

  get growth(): GrowingForest {
    return this.#decision.growth;
  }

  enter(step: StepFeatures): void {
    const before = this.#decision.log.length;
    const open = new Map([...this.growth.open].map(([root, cluster]) => [root, isFull(cluster)]));
    const { cluster } = this.#decision.enter(step);
    const entry = this.#decision.log[before]!;
    if (open.get(cluster.root)) expect(entry).toMatchObject({ kind: "join", score: null }); // by words, none joins one that is full
    this.log.push(...this.#decision.log.slice(before));

    const themes = [...this.growth.themes.values()].map(({ theme }) => theme);
    const total = themes.reduce((sum, { messageCount }) => sum + messageCount, 0);
    for (const { kind, root } of this.#decision.log.slice(before)) {
      const united = themes.find((theme) => theme.root === root);
      if (kind === "unite") expect(united!.messageCount).toBeLessThanOrEqual(Math.max(2, 0.3 * total));
    }
  }

  resume(): void {
    const { forest } = replay(this.log);
    const clusters = rowsOf([...this.growth.open.values()]).map(fromRow) as unknown as OpenCluster[];
    const themes = rowsOf([...this.growth.themes.values()].map(({ theme, logPosition }) => ({ ...theme, logPosition })))
      .map(fromRow)
      .map(({ logPosition, ...theme }) => ({ theme, logPosition })) as unknown as GrowingTheme[];
    const growth = new GrowingForest(DIMENSION, clusters.toReversed(), themes, (root) => forest.find(root)!.theme);
    this.#decision = new StepPlacer(growth, this.log.length, OPTIONS);
  }
}

/** Every bit of a growth, as text, oldest root first. */
const rowsOf = (values: readonly { root: number; sum: Float32Array }[]) =>
  [...values]
    .sort((left, right) => left.root - right.root)
    .map((value) =>
      JSON.stringify(
        { ...value, sum: encodeVector(value.sum).toString("hex") },
        Object.keys(value).sort().concat("name", "seq", "atMs"),
      ),
    );
const fromRow = (row: string) => {
  const value = JSON.parse(row) as { sum: string };
  return { ...value, sum: decodeVector(Buffer.from(value.sum, "hex"), DIMENSION) } as Record<string, unknown>;
};
const bitsOf = ({ open, themes }: GrowingForest) => [
  rowsOf([...open.values()]),
  rowsOf([...themes.values()].map(({ theme, logPosition }) => ({ ...theme, logPosition }))),
];

/**
 * Goal: a session goes on in another process exactly as in this one, and its log rebuilds every bit; no decision depends on
 * the order in which clusters are listed; open clusters and themes stay within their limits.
 * Method: place the same random steps twice, once without a break, once resuming from rows at random points with the
 * clusters listed backwards; compare logs and bits. Then apply the log, deciding nothing, and compare again.
 */
test("places the same after any number of resumes, and replays to the same bits", () => {
  const seen = { joins: 0, unites: 0, settles: 0, resumes: 0 };
  fc.assert(
    fc.property(session, (steps) => {
      const running = new Process();
      const resuming = new Process();
      for (const { features, resumes } of steps) {
        if (resumes) resuming.resume();
        if (resumes) seen.resumes += 1;
        running.enter(features);
        resuming.enter(features);
        expect(running.growth.open.size).toBeLessThanOrEqual(5);
        expect(running.growth.themes.size).toBeLessThanOrEqual(7);
      }
      expect(resuming.log).toEqual(running.log);
      expect(bitsOf(resuming.growth)).toEqual(bitsOf(running.growth));

      const replayed = new GrowingForest(DIMENSION);
      const byId = new Map(steps.map(({ features }) => [features.id, features]));
      for (const row of running.log) replayed.apply(row, byId.get(row.node));
      expect(bitsOf(replayed)).toEqual(bitsOf(running.growth));

      const { forest, refused } = replay(running.log);
      expect(refused).toBeUndefined();
      expect(new Set(rootsOf(running.log, forest, "theme"))).toEqual(new Set(running.growth.themes.keys()));
      for (const [root, { logPosition }] of running.growth.themes) {
        const inside = running.log.filter((row) => row.kind !== "settle" && forest.find(row.root)!.theme === root);
        expect(logPosition).toBe(inside.at(-1)!.id);
      }
      for (const root of running.growth.open.keys()) {
        expect(running.growth.themeOf(root)).toBe(forest.find(root)!.theme);
        expect(running.log.some((row) => row.kind === "settle" && row.root === root)).toBe(false);
      }
      for (const { kind } of running.log) {
        if (kind === "join") seen.joins += 1;
        if (kind === "unite") seen.unites += 1;
        if (kind === "settle") seen.settles += 1;
      }
    }),
    { numRuns: runs(30) },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(seenInRuns(15));
});
