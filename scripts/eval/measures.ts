/** A clustering: one label for each item. Two clusterings that are compared have the same items in the same order. */
export type Labels = readonly (number | string)[];

/**
 * Returns the B³ F-score of a clustering against the true one, in [0, 1]: the harmonic mean of the precision and recall that an
 * average item sees in its own cluster (Bagga and Baldwin, "Entity-Based Cross-Document Coreferencing", ACL 1998).
 * 0 for no items.
 */
export function bCubedF(found: Labels, gold: Labels): number {
  const foundSizes = sizes(found);
  const goldSizes = sizes(gold);
  let precision = 0;
  let recall = 0;
  for (const { f, g, count } of overlaps(found, gold)) {
    precision += count * (count / foundSizes.get(f)!);
    recall += count * (count / goldSizes.get(g)!);
  }
  const sum = precision + recall;
  return sum === 0 ? 0 : (2 * (precision / found.length) * (recall / found.length)) / (sum / found.length);
}

/**
 * Returns the one-to-one overlap, in [0, 1]: the share of items that agree under the best pairing of the clusters (Elsner and
 * Charniak, "You Talking to Me?", ACL 2008). 0 for no items.
 */
export function oneToOneOverlap(found: Labels, gold: Labels): number {
  if (found.length === 0) return 0;
  const rows = [...new Set(found)];
  const columns = [...new Set(gold)];
  const rowOf = new Map(rows.map((label, index) => [label, index]));
  const columnOf = new Map(columns.map((label, index) => [label, index]));
  const side = Math.max(rows.length, columns.length);
  const weights = Array.from({ length: side }, () => new Float64Array(side));
  for (const { f, g, count } of overlaps(found, gold)) weights[rowOf.get(f)!]![columnOf.get(g)!] = count;
  return maximumAssignment(weights) / found.length;
}

/** Returns the share of items in the largest cluster, in [0, 1]; 0 for no items. */
export function largestShare(labels: Labels): number {
  return labels.length === 0 ? 0 : Math.max(...sizes(labels).values()) / labels.length;
}

/** Returns the share of items that are alone in their cluster, in [0, 1]; 0 for no items. */
export function singletonShare(labels: Labels): number {
  if (labels.length === 0) return 0;
  let alone = 0;
  for (const size of sizes(labels).values()) if (size === 1) alone++;
  return alone / labels.length;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function sizes(labels: Labels): Map<number | string, number> {
  const counts = new Map<number | string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}

interface Overlap {
  f: number | string;
  g: number | string;
  count: number;
}

function overlaps(found: Labels, gold: Labels): Overlap[] {
  if (found.length !== gold.length) throw new RangeError(`Expected ${gold.length} labels, got ${found.length}.`);
  const byPair = new Map<string, Overlap>();
  for (const [i, f] of found.entries()) {
    const g = gold[i]!;
    const key = JSON.stringify([f, g]);
    const overlap = byPair.get(key);
    if (overlap) overlap.count++;
    else byPair.set(key, { f, g, count: 1 });
  }
  return [...byPair.values()];
}

/**
 * Returns the greatest total of a square matrix with one entry from each row and each column: the Hungarian method with
 * potentials, O(n³) (Kuhn 1955; in the form of e-maxx). Entries are at least 0.
 */
function maximumAssignment(weights: readonly Float64Array[]): number {
  const n = weights.length;
  const rowPotential = new Float64Array(n + 1);
  const columnPotential = new Float64Array(n + 1);
  const rowOfColumn = new Int32Array(n + 1);
  const way = new Int32Array(n + 1);
  for (let row = 1; row <= n; row++) {
    rowOfColumn[0] = row;
    let column = 0;
    const slack = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
    const used = new Uint8Array(n + 1);
    do {
      used[column] = 1;
      const current = rowOfColumn[column]!;
      let delta = Number.POSITIVE_INFINITY;
      let next = 0;
      for (let j = 1; j <= n; j++) {
        if (used[j]) continue;
        const reduced = -weights[current - 1]![j - 1]! - rowPotential[current]! - columnPotential[j]!;
        if (reduced < slack[j]!) {
          slack[j] = reduced;
          way[j] = column;
        }
        if (slack[j]! < delta) {
          delta = slack[j]!;
          next = j;
        }
      }
      for (let j = 0; j <= n; j++) {
        if (used[j]) {
          rowPotential[rowOfColumn[j]!]! += delta;
          columnPotential[j]! -= delta;
        } else {
          slack[j]! -= delta;
        }
      }
      column = next;
    } while (rowOfColumn[column] !== 0);
    while (column !== 0) {
      const previous = way[column]!;
      rowOfColumn[column] = rowOfColumn[previous]!;
      column = previous;
    }
  }
  let total = 0;
  for (let column = 1; column <= n; column++) total += weights[rowOfColumn[column]! - 1]![column - 1]!;
  return total;
}
