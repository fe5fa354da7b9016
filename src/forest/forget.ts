import { addTo } from "../core/groups.ts";
import type { DecidedRow } from "./forest.ts";

/**
 * Returns the log without some steps. The remaining rows keep their positions.
 *
 * If a cluster loses its first step, its first remaining step becomes the root. If a cluster becomes empty, the first
 * theme that it absorbed takes its place.
 *
 * @param rows  The log of one session, in order of position.
 */
export function logWithout(rows: readonly DecidedRow[], gone: ReadonlySet<number>): DecidedRow[] {
  /** Keyed by old root: the cluster's new root. An empty cluster has none. */
  const firstLeft = new Map<number, number>();
  /** Keyed by old root: the roots that it absorbed, in order. */
  const absorbedBy = new Map<number, number[]>();
  for (const { kind, node, root } of rows) {
    if ((kind === "start" || kind === "join") && !gone.has(node) && !firstLeft.has(root)) firstLeft.set(root, node);
    if (kind === "unite") addTo(absorbedBy, root, node);
  }
  const heirs = new Map<number, number | undefined>();
  /** Returns the root that replaces a theme's root; undefined if the theme is empty. */
  const heirOf = (root: number): number | undefined => {
    if (heirs.has(root)) return heirs.get(root);
    let heir = firstLeft.get(root);
    for (const child of absorbedBy.get(root) ?? []) heir ??= heirOf(child);
    heirs.set(root, heir);
    return heir;
  };

  return rows.flatMap((row): DecidedRow[] => {
    const { kind, node, root } = row;
    if (kind === "unite") {
      const [absorbed, staying] = [heirOf(node), heirOf(root)];
      if (absorbed === undefined || staying === undefined || absorbed === staying) return [];
      return [{ ...row, node: absorbed, root: staying }];
    }
    const name = firstLeft.get(root);
    if (name === undefined) return [];
    if (kind === "join") return gone.has(node) || node === name ? [] : [{ ...row, root: name }];
    return [{ ...row, node: name, root: name }];
  });
}
