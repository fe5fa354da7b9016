import type { SessionLevel } from "../core/handle.ts";

/** One row of the log; `id` is its position. Nodes and roots are steps, named by the id of their first message. */
export interface LogRow {
  id: number;
  level: SessionLevel;
  /** Clusters `start`, `join` and `settle`; themes `unite`. */
  kind: "start" | "join" | "settle" | "unite";
  /** The step. For `settle`: the cluster. For `unite`: the root that is absorbed. */
  node: number;
  /** The cluster. For `unite`: the root that stays. */
  root: number;
}

/** A row of the log with the similarity of a join or the cost of a unite. */
export interface DecidedRow extends LogRow {
  score: number | null;
}

/**
 * The forest of one session, read from its log. It has two levels of disjoint sets. A step points to its cluster's
 * root. A cluster's root points to itself until another root absorbs it.
 *
 * Paths are never compressed, because they are the provenance. The root of fewer clusters goes under the root of more.
 * So a path has at most 1 + log₂(clusters) links (Tarjan and van Leeuwen, "Worst-case analysis of set union
 * algorithms", J. ACM 31(2), 1984). No link is ever undone, so questions about an old log position always have the same
 * answer.
 */
export class Forest {
  /** Keyed by step: the cluster that the step entered, and when. In log order. */
  readonly #entries = new Map<number, { cluster: number; position: number }>();
  readonly #settled = new Set<number>();
  /** Keyed by absorbed root. */
  readonly #absorbed = new Map<number, { into: number; position: number }>();
  #position = 0;

  /** Applies the next row of the log. @returns the reason if the row is impossible; the forest is then unchanged. */
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

  /** Returns the cluster and the theme of a step, now or at a log position; undefined if the step had not entered. */
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
 * Applies the log of one session from its beginning, in order of position.
 *
 * @returns the forest, and the first impossible row with the reason. Later rows are not applied.
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
