import { assert } from "../core/assert.ts";
import { joinCluster, type OpenCluster, type StepFeatures, startCluster } from "./cluster.ts";
import type { LogRow } from "./forest.ts";
import { joinTheme, startTheme, type Theme, uniteThemes } from "./themes.ts";

export interface GrowingTheme {
  theme: Theme;
  logPosition: number;
}

/** The open clusters and the themes of one session. Writing and replaying a log give the same bits. */
export class GrowingForest {
  /** Keyed by root. */
  readonly open = new Map<number, OpenCluster>();
  /** Keyed by root. */
  readonly themes = new Map<number, GrowingTheme>();
  readonly #dimension: number;
  /** For clusters that were open at the beginning. */
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

  /** @param step  The step that enters; only for `start` and `join`. */
  apply({ id, kind, node, root }: LogRow, step?: StepFeatures): void {
    if (kind === "settle") {
      assert(this.open.delete(root), "an open cluster settles");
    } else if (kind === "unite") {
      this.#unite(root, node, id);
    } else if (kind === "start") {
      this.open.set(root, startCluster(step!, this.#dimension));
      this.themes.set(root, { theme: startTheme(step!, this.#dimension), logPosition: id });
      this.#themeRoots.set(root, root);
    } else {
      const cluster = this.open.get(root);
      assert(cluster !== undefined, "a step joins an open cluster");
      joinCluster(cluster, step!);
      const growing = this.themes.get(this.themeOf(root))!;
      joinTheme(growing.theme, step!);
      growing.logPosition = id;
    }
  }

  #unite(root: number, absorbed: number, position: number): void {
    const target = this.themes.get(root);
    const source = this.themes.get(absorbed);
    assert(target !== undefined && source !== undefined && root !== absorbed, "two themes unite");
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
