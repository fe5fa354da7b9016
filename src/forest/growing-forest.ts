import { assert } from "../core/damage.ts";
import { copyCluster, joinCluster, type OpenCluster, type StepFeatures, startCluster } from "./cluster.ts";
import type { LogRow } from "./forest.ts";
import { copyTheme, joinTheme, startTheme, type Theme, uniteThemes } from "./themes.ts";

export interface GrowingTheme {
  theme: Theme;
  logPosition: number;
}

/** The themes of one session, continued from some log position without their clusters. */
export class ThemeReplay {
  /** Keyed by root. */
  readonly themes = new Map<number, GrowingTheme>();
  readonly #dimension: number;
  /** Returns the root of a cluster's theme before a log position. */
  readonly #themeOf: (clusterRoot: number, position: number) => number;

  /** @param themes  The themes at the position from which the log is replayed. They stay as they are. */
  constructor(
    dimension: number,
    themes: Iterable<GrowingTheme>,
    themeOf: (clusterRoot: number, position: number) => number,
  ) {
    this.#dimension = dimension;
    this.#themeOf = themeOf;
    for (const { theme, logPosition } of themes) this.themes.set(theme.root, { theme: copyTheme(theme), logPosition });
  }

  /** @param step  The step that enters; only for `start` and `join`. */
  apply({ id, kind, node, root }: LogRow, step?: StepFeatures): void {
    if (kind === "settle") return;
    if (kind === "start") {
      this.themes.set(root, { theme: startTheme(step!, this.#dimension), logPosition: id });
      return;
    }
    const changed = this.themes.get(kind === "unite" ? root : this.#themeOf(root, id));
    assert(changed !== undefined, "a theme changes");
    if (kind === "join") joinTheme(changed.theme, step!);
    else {
      const absorbed = this.themes.get(node);
      assert(absorbed !== undefined && root !== node, "a theme is absorbed");
      uniteThemes(changed.theme, absorbed.theme);
      this.themes.delete(node);
    }
    changed.logPosition = id;
  }
}

/**
 * The open clusters and the themes of one session. Writing and replaying a log give the same bits. The clusters and themes that it
 * is given stay as they are: it changes copies.
 */
export class GrowingForest {
  /** Keyed by root. */
  readonly open = new Map<number, OpenCluster>();
  readonly #dimension: number;
  readonly #replay: ThemeReplay;
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
    this.#replay = new ThemeReplay(dimension, themes, (root) => this.themeOf(root));
    for (const cluster of open) this.open.set(cluster.root, copyCluster(cluster));
  }

  /** Keyed by root. */
  get themes(): Map<number, GrowingTheme> {
    return this.#replay.themes;
  }

  /** Returns a forest that goes on from here, while this one stays as it is. */
  continued(): GrowingForest {
    const next = new GrowingForest(this.#dimension, this.open.values(), this.themes.values(), this.#initialThemeOf);
    for (const root of this.open.keys()) next.#themeRoots.set(root, this.themeOf(root));
    return next;
  }

  /** @param step  The step that enters; only for `start` and `join`. */
  apply(row: LogRow, step?: StepFeatures): void {
    const { kind, node, root } = row;
    const cluster = this.open.get(root);
    if (kind === "settle") {
      assert(this.open.delete(root), "an open cluster settles");
    } else if (kind === "start") {
      this.open.set(root, startCluster(step!, this.#dimension));
      this.#themeRoots.set(root, root);
    } else if (kind === "join") {
      assert(cluster !== undefined, "a step joins an open cluster");
      joinCluster(cluster, step!);
    }
    this.#replay.apply(row, step);
    if (kind !== "unite") return;
    for (const open of this.open.keys()) if (this.themeOf(open) === node) this.#themeRoots.set(open, root);
  }

  themeOf(clusterRoot: number): number {
    const root = this.#themeRoots.get(clusterRoot) ?? this.#initialThemeOf(clusterRoot);
    this.#themeRoots.set(clusterRoot, root);
    return root;
  }
}
