/** A binary heap that returns the number with the greatest key first. */
export class MaxHeap {
  readonly #items: Int32Array;
  readonly #keys: Float64Array;
  #size = 0;

  /** @param capacity  The most numbers that it holds at a time. */
  constructor(capacity: number) {
    this.#items = new Int32Array(capacity);
    this.#keys = new Float64Array(capacity);
  }

  /** The greatest key; minus infinity if the heap is empty. */
  get topKey(): number {
    return this.#size === 0 ? Number.NEGATIVE_INFINITY : this.#keys[0]!;
  }

  push(item: number, key: number): void {
    const [items, keys] = [this.#items, this.#keys];
    let at = this.#size++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (keys[above]! >= key) break;
      items[at] = items[above]!;
      keys[at] = keys[above]!;
      at = above;
    }
    items[at] = item;
    keys[at] = key;
  }

  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const [items, keys, size] = [this.#items, this.#keys, --this.#size];
    const top = items[0]!;
    const item = items[size]!;
    const key = keys[size]!;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && keys[below + 1]! > keys[below]!) below += 1;
      if (keys[below]! <= key) break;
      items[at] = items[below]!;
      keys[at] = keys[below]!;
      at = below;
    }
    items[at] = item;
    keys[at] = key;
    return top;
  }
}
