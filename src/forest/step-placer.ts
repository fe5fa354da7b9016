import { isFull, type OpenCluster, type StepFeatures } from "./cluster.ts";
import type { DecidedRow } from "./forest.ts";
import type { GrowingForest } from "./growing-forest.ts";
import { choosePlacement, clustersToSettle, type StructureWeights } from "./placement.ts";
import { leastWardPair } from "./themes.ts";

export interface PlacementOptions {
  /** The least score for joining a cluster. It depends on the embedder. */
  similarityMin: number;
  openClustersMax: number;
  maxThemes: number;
  weights?: StructureWeights;
}

/** Places steps in a growing forest and logs each decision. */
export class StepPlacer {
  readonly growth: GrowingForest;
  readonly log: DecidedRow[] = [];
  readonly options: PlacementOptions;
  #positionBefore: number;
  #position: number;

  /** @param position  The log position before the first decision. */
  constructor(growth: GrowingForest, position: number, options: PlacementOptions) {
    this.growth = growth;
    this.#positionBefore = position;
    this.#position = position;
    this.options = options;
  }

  get position(): number {
    return this.#position;
  }

  /** Numbers the decisions as if they followed another position, because other sessions have written to the log meanwhile. */
  renumber(positionBefore: number): void {
    const shift = positionBefore - this.#positionBefore;
    if (shift === 0) return;
    for (const row of this.log) row.id += shift;
    for (const growing of this.growth.themes.values())
      if (growing.logPosition > this.#positionBefore) growing.logPosition += shift;
    this.#positionBefore = positionBefore;
    this.#position += shift;
  }

  /**
   * Places a step. Then its cluster settles if it is full and the step joined it by a score. Clusters that exceed `openClustersMax` settle,
   * too, and themes unite down to `maxThemes`.
   * @returns the cluster that the step entered, which may have settled, and the log position at which it entered.
   */
  enter(step: StepFeatures): { cluster: OpenCluster; position: number } {
    const { growth } = this;
    const { similarityMin, openClustersMax, maxThemes, weights } = this.options;
    const joined = choosePlacement(step, [...growth.open.values()], similarityMin, weights);
    const root = joined?.root ?? step.id;
    const kind = joined === undefined ? "start" : "join";
    this.#decide({ level: "cluster", kind, node: step.id, root, score: joined?.score ?? null }, step);

    const { position } = this;
    const cluster = growth.open.get(root)!;
    // A cluster that has just begun may become work with tools, and size does not divide that.
    const isOfWork = joined?.score === null || cluster.stepCount === 1;
    if (isFull(cluster) && !isOfWork) this.#settle(root);
    for (const least of clustersToSettle([...growth.open.values()], openClustersMax)) this.#settle(least.root);
    while (growth.themes.size > maxThemes) {
      const { root, absorbed, cost } = leastWardPair([...growth.themes.values()].map(({ theme }) => theme));
      this.#decide({ level: "theme", kind: "unite", node: absorbed, root, score: cost });
    }
    return { cluster, position };
  }

  settleAll(): void {
    for (const { root } of clustersToSettle([...this.growth.open.values()], 0)) this.#settle(root);
  }

  #settle(root: number): void {
    this.#decide({ level: "cluster", kind: "settle", node: root, root, score: null });
  }

  #decide(decision: Omit<DecidedRow, "id">, step?: StepFeatures): void {
    this.#position += 1;
    const row = { id: this.#position, ...decision };
    this.log.push(row);
    this.growth.apply(row, step);
  }
}
