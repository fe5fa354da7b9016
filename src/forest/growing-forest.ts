import { assert } from "../core/damage.ts";
import { copyCluster, joinCluster, type OpenCluster, type StepFeatures, startCluster } from "./cluster.ts";
import type { LogRow } from "./forest.ts";
import { copyTheme, joinTheme, startTheme, type Theme, uniteThemes } from "./themes.ts";

export interface GrowingTheme {
  theme: Theme;
  logPosition: number;
}

/**
 * The open clusters and the themes of one session. Writing and replaying a log give the same bits. The clusters and themes that it
 * is given stay as they are: it changes copies.
 */
export class GrowingForest {
  /** Keyed by root. */
  readonly open = new Map<number, OpenCluster>();
  /** Keyed by root. */
  readonly themes = new Map<number, GrowingTheme>();
  readonly #dimension: number;
  /** For clusters that were open at the beginning. */
  readonly #initialThemeOf: (clusterRoot: number) => number;
  readonly #themeRoots = new Map<number, number>();
  /** The clusters and themes that were made here. */
  readonly #own = new WeakSet<OpenCluster | GrowingTheme>();

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

  /** Returns a forest that goes on from here, while this one stays as it is. */
  continued(): GrowingForest {
    const next = new GrowingForest(this.#dimension, this.open.values(), this.themes.values(), this.#initialThemeOf);
    for (const root of this.open.keys()) next.#themeRoots.set(root, this.themeOf(root));
    return next;
  }

  /** @param step  The step that enters; only for `start` and `join`. */
  apply({ id, kind, node, root }: LogRow, step?: StepFeatures): void {
    if (kind === "settle") {
      assert(this.open.delete(root), "an open cluster settles");
    } else if (kind === "unite") {
      this.#unite(root, node, id);
    } else if (kind === "start") {
      const cluster = startCluster(step!, this.#dimension);
      const growing = { theme: startTheme(step!, this.#dimension), logPosition: id };
      this.open.set(root, cluster);
      this.themes.set(root, growing);
      this.#own.add(cluster).add(growing);
      this.#themeRoots.set(root, root);
    } else {
      joinCluster(this.#changeableCluster(root), step!);
      const growing = this.#changeableTheme(this.themeOf(root));
      joinTheme(growing.theme, step!);
      growing.logPosition = id;
    }
  }

  #changeableCluster(root: number): OpenCluster {
    const cluster = this.open.get(root);
    assert(cluster !== undefined, "a step joins an open cluster");
    if (this.#own.has(cluster)) return cluster;
    const copy = copyCluster(cluster);
    this.open.set(root, copy);
    this.#own.add(copy);
    return copy;
  }

  #changeableTheme(root: number): GrowingTheme {
    const growing = this.themes.get(root);
    assert(growing !== undefined, "a theme grows");
    if (this.#own.has(growing)) return growing;
    const copy = { theme: copyTheme(growing.theme), logPosition: growing.logPosition };
    this.themes.set(root, copy);
    this.#own.add(copy);
    return copy;
  }

  #unite(root: number, absorbed: number, position: number): void {
    const source = this.themes.get(absorbed);
    assert(source !== undefined && root !== absorbed, "two themes unite");
    const target = this.#changeableTheme(root);
    uniteThemes(target.theme, source.theme);
    target.logPosition = position;
    this.themes.delete(absorbed);
    for (const cluster of this.open.keys()) if (this.themeOf(cluster) === absorbed) this.#themeRoots.set(cluster, root);
  }

  themeOf(clusterRoot: number): number {
    let root = this.#themeRoots.get(clusterRoot);
    if (root === undefined) {
      root = this.#initialThemeOf(clusterRoot);
      this.#themeRoots.set(clusterRoot, root);
    }
    return root;
  }
}
