/** The heights of a long list's rows, and where each row begins. A Fenwick tree, so that a change costs log n. */
export class Heights {
  readonly count: number;
  readonly #heights: Float64Array;
  readonly #sums: Float64Array;

  constructor(count: number, heightOf: (index: number) => number) {
    this.count = count;
    this.#heights = Float64Array.from({ length: count }, (_, index) => heightOf(index));
    this.#sums = new Float64Array(count + 1);
    for (let node = 1; node <= count; node++) {
      this.#sums[node]! += this.#heights[node - 1]!;
      const parent = node + (node & -node);
      if (parent <= count) this.#sums[parent]! += this.#sums[node]!;
    }
  }

  get total(): number {
    return this.offsetOf(this.count);
  }

  heightOf(index: number): number {
    return this.#heights[index]!;
  }

  /** Returns false if the row has had this height. */
  set(index: number, height: number): boolean {
    const change = height - this.#heights[index]!;
    if (Math.abs(change) < 0.5) return false;
    this.#heights[index] = height;
    for (let node = index + 1; node <= this.count; node += node & -node) this.#sums[node]! += change;
    return true;
  }

  /** Returns the sum of the heights before a row. */
  offsetOf(index: number): number {
    let sum = 0;
    for (let node = index; node > 0; node -= node & -node) sum += this.#sums[node]!;
    return sum;
  }

  /** Returns the row at an offset: the last one that begins at it or before it. */
  indexAt(offset: number): number {
    let [index, rest] = [0, offset];
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.count))); step >= 1; step /= 2) {
      const next = index + step;
      if (next > this.count || this.#sums[next]! > rest) continue;
      index = next;
      rest -= this.#sums[next]!;
    }
    return Math.max(0, Math.min(index, this.count - 1));
  }
}
