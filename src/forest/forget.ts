import type { DecidedRow } from "./step-placer.ts";

/**
 * The log as it would be had some steps never been: what remains applies, and gives the clusters and themes that there
 * were, less the steps that are gone.
 *
 * Every row that remains keeps its position, so positions go on meaning what they meant. A cluster whose first step is gone
 * is named by the first that remains, from the position at which the cluster began. A cluster that is empty leaves the tree;
 * its place among the themes, and its name, go to the first theme that it had absorbed.
 *
 * @param rows  Of one session, in order of position.
 * @param gone  Steps, by their first message.
 */
export function logWithout(rows: readonly DecidedRow[], gone: ReadonlySet<number>): DecidedRow[] {
  /** By old root: the step that names the cluster now. None for an empty cluster. */
  const firstLeft = new Map<number, number>();
  /** By old root: what it absorbed, in order. */
  const absorbedBy = new Map<number, number[]>();
  for (const { kind, node, root } of rows) {
    if ((kind === "start" || kind === "join") && !gone.has(node) && !firstLeft.has(root)) firstLeft.set(root, node);
    if (kind === "unite") absorbedBy.set(root, [...(absorbedBy.get(root) ?? []), node]);
  }
  const heirs = new Map<number, number | undefined>();
  /** The root that stands where this theme's root stood; undefined if nothing under it is left. */
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
