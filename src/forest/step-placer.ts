import { isFull, type OpenCluster, type StepFeatures } from "./cluster.ts";
import type { LogRow } from "./forest.ts";
import type { GrowingForest } from "./growing-forest.ts";
import { choosePlacement, clustersToSettle, type StructureWeights } from "./placement.ts";
import { leastWardPair } from "./themes.ts";

export interface PlacementOptions {
  /** The least score at which a step joins a cluster, calibrated for the embedder. */
  similarityMin: number;
  openClustersMax: number;
  maxThemes: number;
  /** Default: `STRUCTURE_WEIGHTS`. */
  weights?: StructureWeights;
}

/** A row of the log with the number that decided it: the similarity of a join, the cost of a unite. */
export interface DecidedRow extends LogRow {
  score: number | null;
}

/**
 * Places steps in a growing forest, and logs each decision before the next one is made.
 *
 * For each step it logs a `start` or `join`, a `settle` for each cluster that is full or exceeds `openClustersMax`, and a
 * `unite` for each theme beyond `maxThemes`.
 */
export class StepPlacer {
  readonly growth: GrowingForest;
  readonly log: DecidedRow[] = [];
  readonly #options: PlacementOptions;
  #position: number;

  /** @param position  The newest log position so far. */
  constructor(growth: GrowingForest, position: number, options: PlacementOptions) {
    this.growth = growth;
    this.#position = position;
    this.#options = options;
  }

  /** The log position of the last decision. */
  get position(): number {
    return this.#position;
  }

  /** Places a step. Returns the cluster that it entered, which may be settled now, and the log position of this decision. */
  enter(step: StepFeatures): { cluster: OpenCluster; position: number } {
    const { growth } = this;
    const { similarityMin, openClustersMax, maxThemes, weights } = this.#options;
    const placement = choosePlacement(step, [...growth.open.values()], similarityMin, weights);
    const root = placement.kind === "start" ? step.id : placement.root;
    const score = placement.kind === "start" ? null : placement.similarity;
    const position = this.#add({ level: "cluster", kind: placement.kind, node: step.id, root, score });
    if (placement.kind === "start") growth.start(step, position);
    else growth.join(step, root, position);

    const cluster = growth.open.get(root)!;
    if (isFull(cluster)) this.#settle(root);
    for (const least of clustersToSettle([...growth.open.values()], openClustersMax)) this.#settle(least.root);
    while (growth.themes.size > maxThemes) this.#unite();
    return { cluster, position };
  }

  /** Settles every open cluster, first the one that got its last step longest ago. */
  settleAll(): void {
    for (const { root } of clustersToSettle([...this.growth.open.values()], 0)) this.#settle(root);
  }

  #settle(root: number): void {
    this.#add({ level: "cluster", kind: "settle", node: root, root, score: null });
    this.growth.settle(root);
  }

  #unite(): void {
    const { root, absorbed, cost } = leastWardPair([...this.growth.themes.values()].map(({ theme }) => theme));
    this.growth.unite(root, absorbed, this.#add({ level: "theme", kind: "unite", node: absorbed, root, score: cost }));
  }

  #add(row: Omit<DecidedRow, "id">): number {
    this.#position += 1;
    this.log.push({ id: this.#position, ...row });
    return this.#position;
  }
}
