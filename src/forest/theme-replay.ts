import { assert } from "../core/damage.ts";
import type { StepFeatures } from "./cluster.ts";
import type { LogRow } from "./forest.ts";
import type { GrowingTheme } from "./growing-forest.ts";
import { copyTheme, joinTheme, startTheme, uniteThemes } from "./themes.ts";

/**
 * The themes of one session, continued from some log position without their clusters. The bits are those of `GrowingForest`.
 */
export class ThemeReplay {
  /** Keyed by root. */
  readonly themes = new Map<number, GrowingTheme>();
  readonly #dimension: number;
  /** Returns the root of a cluster's theme before a log position. */
  readonly #themeOf: (clusterRoot: number, position: number) => number;

  /** @param themes  The themes at the position from which the log is replayed. They stay as they are. */
  constructor(
    dimension: number,
    themes: readonly GrowingTheme[],
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
      assert(absorbed !== undefined, "a theme is absorbed");
      uniteThemes(changed.theme, absorbed.theme);
      this.themes.delete(node);
    }
    changed.logPosition = id;
  }
}
