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

/** A row of the log with the number that decided it: the similarity of a join, the cost of a unite. */
export interface DecidedRow extends LogRow {
  score: number | null;
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
  /** Keyed by step: the cluster that it entered, and the log position at which it entered. In the order of the log. */
  readonly #entries = new Map<number, { cluster: number; position: number }>();
  readonly #settled = new Set<number>();
  /** Keyed by absorbed root. */
  readonly #absorbed = new Map<number, { into: number; position: number }>();
  #position = 0;

  /**
   * Applies the next row of the log if it is possible here.
   *
   * @returns the reason why the row is impossible, with the forest as before; undefined if it was applied.
   */
  apply(row: LogRow): string | undefined {
    const reason = this.#refusal(row);
    if (reason !== undefined) return reason;
    const { id, kind, node, root } = row;
    this.#position = id;
    if (kind === "settle") this.#settled.add(root);
    else if (kind === "unite") this.#absorbed.set(node, { into: root, position: id });
    else this.#entries.set(node, { cluster: root, position: id });
    return undefined;
  }

  /** Returns the `messages.parent_id` of the step's messages; undefined if the step has not entered. */
  parentOf(step: number): number | undefined {
    return this.#isCluster(step) ? (this.#absorbed.get(step)?.into ?? step) : this.#entries.get(step)?.cluster;
  }

  /** Returns the cluster and the theme that hold a step, now or as of a position; undefined if it had not entered. */
  find(step: number, position = this.#position): { cluster: number; theme: number } | undefined {
    const entry = this.#entries.get(step);
    if (entry === undefined || entry.position > position) return undefined;
    const { cluster } = entry;
    let theme = cluster;
    for (;;) {
      const absorbed = this.#absorbed.get(theme);
      if (absorbed === undefined || absorbed.position > position) return { cluster, theme };
      theme = absorbed.into;
    }
  }

  /** Returns the steps of a theme, now or as of a position, in the order in which they entered. */
  stepsOf(theme: number, position = this.#position): number[] {
    return [...this.#entries.keys()].filter((step) => this.find(step, position)?.theme === theme);
  }

  #isCluster(root: number): boolean {
    return this.#entries.get(root)?.cluster === root;
  }

  #refusal({ id, level, kind, node, root }: LogRow): string | undefined {
    if (!(id > this.#position)) return `its position is not after ${this.#position}`;
    if ((kind === "unite") !== (level === "theme")) return `a ${level} does not ${kind}`;
    switch (kind) {
      case "start":
        if (node !== root) return "a step starts a cluster under a root that is not its own";
        return this.#entries.has(node) ? "the step has entered already" : undefined;
      case "join":
        if (this.#entries.has(node)) return "the step has entered already";
        if (!this.#isCluster(root)) return "no cluster has this root";
        return this.#settled.has(root) ? "the cluster has settled" : undefined;
      case "settle":
        if (node !== root || !this.#isCluster(root)) return "no cluster has this root";
        return this.#settled.has(root) ? "the cluster has settled already" : undefined;
      case "unite":
        if (node === root) return "a theme cannot absorb itself";
        if (!this.#isCluster(root) || !this.#isCluster(node)) return "no theme has this root";
        if (!this.#absorbed.has(root) && !this.#absorbed.has(node)) return undefined;
        return "one of the roots is no theme's root any more";
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
