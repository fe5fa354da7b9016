import { assert } from "../core/assert.ts";
import { joinCluster, type OpenCluster, type StepFeatures, startCluster } from "./cluster.ts";
import { joinTheme, startTheme, type Theme, uniteThemes } from "./themes.ts";

/** A theme, and the log position of the last start, join or unite in it. */
export interface GrowingTheme {
  theme: Theme;
  logPosition: number;
}

/**
 * The open clusters and the themes of one session while its log is written or replayed.
 *
 * Placing and replaying call the same four methods, so both add the same Float32 numbers in the same order and get the same
 * bits. Settled clusters and absorbed themes are dropped.
 */
export class GrowingForest {
  /** Keyed by root. */
  readonly open = new Map<number, OpenCluster>();
  /** Keyed by root. */
  readonly themes = new Map<number, GrowingTheme>();
  readonly #dimension: number;
  /** Returns the theme that holds a cluster of `open` when the forest is made. */
  readonly #initialThemeOf: (clusterRoot: number) => number;
  readonly #themeRoots = new Map<number, number>();

  constructor(
    dimension: number,
    open: Iterable<OpenCluster> = [],
    themes: Iterable<GrowingTheme> = [],
    initialThemeOf: (clusterRoot: number) => number = (root) => root,
  ) {
    this.#dimension = dimension;
    this.#initialThemeOf = initialThemeOf;
    for (const cluster of open) this.open.set(cluster.root, cluster);
    for (const theme of themes) this.themes.set(theme.theme.root, theme);
  }

  /** Starts a cluster with a step. The cluster is a theme of its own. */
  start(step: StepFeatures, position: number): void {
    const cluster = startCluster(step, this.#dimension);
    this.open.set(cluster.root, cluster);
    this.themes.set(cluster.root, { theme: startTheme(step, this.#dimension), logPosition: position });
    this.#themeRoots.set(cluster.root, cluster.root);
  }

  /** Adds a step to an open cluster and to the cluster's theme. */
  join(step: StepFeatures, root: number, position: number): void {
    const cluster = this.open.get(root);
    assert(cluster !== undefined, "a step joins an open cluster");
    joinCluster(cluster, step);
    const theme = this.themes.get(this.themeOf(root));
    assert(theme !== undefined, "an open cluster is in a theme");
    joinTheme(theme.theme, step);
    theme.logPosition = position;
  }

  settle(root: number): void {
    assert(this.open.delete(root), "an open cluster settles");
  }

  /** Lets one theme absorb another. */
  unite(root: number, absorbed: number, position: number): void {
    const target = this.themes.get(root);
    const source = this.themes.get(absorbed);
    assert(target !== undefined && source !== undefined && root !== absorbed, "two themes unite");
    uniteThemes(target.theme, source.theme);
    target.logPosition = position;
    this.themes.delete(absorbed);
    for (const cluster of this.open.keys()) if (this.themeOf(cluster) === absorbed) this.#themeRoots.set(cluster, root);
  }

  /** Returns the root of the theme that an open cluster is in. */
  themeOf(clusterRoot: number): number {
    let root = this.#themeRoots.get(clusterRoot);
    if (root === undefined) {
      root = this.#initialThemeOf(clusterRoot);
      this.#themeRoots.set(clusterRoot, root);
    }
    return root;
  }
}
