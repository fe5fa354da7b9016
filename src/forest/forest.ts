import type { SessionLevel } from "../core/handle.ts";

/** One row of the log; `id` is its position. A node or root is the id of a step, which is that of its first message. */
export interface LogRow {
  id: number;
  level: SessionLevel;
  /** Clusters `start`, `join` and `settle`; themes `unite`. */
  kind: "start" | "join" | "settle" | "unite";
  /** The step; with `settle` the cluster; with `unite` the root that is absorbed. */
  node: number;
  /** With `start` and `settle` the node itself; with `join` the cluster; with `unite` the root that stays. */
  root: number;
}

interface Tree {
  /** In the order in which they entered, the root's own step first. */
  steps: { id: number; position: number }[];
  settled: boolean;
  absorbed: { into: number; position: number } | undefined;
  /** The roots that this one absorbed, in order. */
  children: number[];
}

/**
 * The forest of one session, read from its log. Replay and `verify` compare the stored rows with it.
 *
 * It has two levels of disjoint sets over one pointer. A step points to its cluster's root. A cluster's root points to
 * itself while it is a theme's root, and afterwards to the root that absorbed it. Paths are never compressed, because the
 * tree as it grew is the provenance. The root of fewer clusters goes under the root of more, so no path is longer than
 * 1 + log₂(clusters) (Tarjan and van Leeuwen, "Worst-case analysis of set union algorithms", J. ACM 31(2), 1984).
 *
 * Every link has a log position, and no link is ever undone. So each question can be asked as of any position, and its
 * answer never changes.
 */
export class Forest {
  /** Keyed by step: the cluster that it entered, and the log position at which it entered. */
  readonly #entries = new Map<number, { cluster: number; position: number }>();
  readonly #trees = new Map<number, Tree>();
  #position = 0;

  /** The position of the last row applied; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  /**
   * Applies the next row of the log if it is possible here.
   *
   * @returns the reason why the row is impossible, with the forest as before; undefined if it was applied.
   */
  apply(row: LogRow): string | undefined {
    const reason = this.#refusal(row);
    if (reason === undefined) this.#apply(row);
    return reason;
  }

  /** Returns the `messages.parent_id` of the step's messages; undefined if the step has not entered. */
  parentOf(step: number): number | undefined {
    const cluster = this.#entries.get(step)?.cluster;
    return cluster === step ? (this.#trees.get(step)!.absorbed?.into ?? step) : cluster;
  }

  /** Returns the cluster and the theme that hold a step, now or as of a position; undefined if it had not entered. */
  find(step: number, position = this.#position): { cluster: number; theme: number } | undefined {
    const entry = this.#entries.get(step);
    if (entry === undefined || entry.position > position) return undefined;
    const { cluster } = entry;
    let theme = cluster;
    for (;;) {
      const { absorbed } = this.#trees.get(theme)!;
      if (absorbed === undefined || absorbed.position > position) return { cluster, theme };
      theme = absorbed.into;
    }
  }

  /** Returns the roots of a level, now or as of a position, oldest first. */
  roots(level: SessionLevel, position = this.#position): number[] {
    const roots: number[] = [];
    for (const [root, { steps, absorbed }] of this.#trees) {
      const exists = steps[0]!.position <= position;
      const isRoot = level === "cluster" || absorbed === undefined || absorbed.position > position;
      if (exists && isRoot) roots.push(root);
    }
    return roots;
  }

  /** Returns the clusters under a root as of a position, the root first, even if the root has been absorbed since. */
  clustersUnder(root: number, position = this.#position): number[] {
    const tree = this.#trees.get(root);
    if (tree === undefined || tree.steps[0]!.position > position) return [];
    const then = tree.children.filter((child) => this.#trees.get(child)!.absorbed!.position <= position);
    return [root, ...then.flatMap((child) => this.clustersUnder(child, position))];
  }

  /** Returns the steps of a cluster, or of all clusters under a theme's root, as of a position, in the order they entered. */
  stepsOf(level: SessionLevel, root: number, position = this.#position): number[] {
    const clusters = level === "cluster" ? [root] : this.clustersUnder(root, position);
    return clusters
      .flatMap((cluster) => this.#trees.get(cluster)?.steps ?? [])
      .filter((entry) => entry.position <= position)
      .sort((left, right) => left.position - right.position)
      .map(({ id }) => id);
  }

  /** Returns true if the cluster takes no more steps. */
  isSettled(cluster: number): boolean {
    return this.#trees.get(cluster)?.settled ?? false;
  }

  #refusal({ id, level, kind, node, root }: LogRow): string | undefined {
    if (!(id > this.#position)) return `its position is not after ${this.#position}`;
    if ((kind === "unite") !== (level === "theme")) return `a ${level} does not ${kind}`;
    const cluster = this.#trees.get(root);
    switch (kind) {
      case "start":
        if (node !== root) return "a step starts a cluster under a root that is not its own";
        return this.#entries.has(node) ? "the step has entered already" : undefined;
      case "join":
        if (this.#entries.has(node)) return "the step has entered already";
        if (cluster === undefined) return "no cluster has this root";
        return cluster.settled ? "the cluster has settled" : undefined;
      case "settle":
        if (node !== root || cluster === undefined) return "no cluster has this root";
        return cluster.settled ? "the cluster has settled already" : undefined;
      case "unite": {
        const absorbed = this.#trees.get(node);
        if (node === root) return "a theme cannot absorb itself";
        if (cluster === undefined || absorbed === undefined) return "no theme has this root";
        if (cluster.absorbed ?? absorbed.absorbed) return "one of the roots is no theme's root any more";
        return undefined;
      }
    }
  }

  #apply({ id, kind, node, root }: LogRow): void {
    this.#position = id;
    switch (kind) {
      case "start":
        this.#entries.set(node, { cluster: node, position: id });
        this.#trees.set(node, {
          steps: [{ id: node, position: id }],
          settled: false,
          absorbed: undefined,
          children: [],
        });
        break;
      case "join":
        this.#entries.set(node, { cluster: root, position: id });
        this.#trees.get(root)!.steps.push({ id: node, position: id });
        break;
      case "settle":
        this.#trees.get(root)!.settled = true;
        break;
      case "unite": {
        const target = this.#trees.get(root)!;
        const source = this.#trees.get(node)!;
        source.absorbed = { into: root, position: id };
        target.children.push(node);
        break;
      }
    }
  }
}

/**
 * Applies the log of one session from its beginning.
 *
 * @param rows  In order of position.
 * @returns the forest, and the first row that is impossible after the rows before it, with the reason.
 */
export function replay(rows: Iterable<LogRow>): {
  forest: Forest;
  refused: { row: LogRow; reason: string } | undefined;
} {
  const forest = new Forest();
  for (const row of rows) {
    const reason = forest.apply(row);
    if (reason !== undefined) return { forest, refused: { row, reason } };
  }
  return { forest, refused: undefined };
}
