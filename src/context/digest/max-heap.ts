/** A binary heap that returns the item with the greatest key first. */
export class MaxHeap<T> {
  readonly #items: T[] = [];
  readonly #keys: number[] = [];

  /** The greatest key; minus infinity if the heap is empty. */
  get topKey(): number {
    return this.#keys[0] ?? Number.NEGATIVE_INFINITY;
  }

  push(item: T, key: number): void {
    const [items, keys] = [this.#items, this.#keys];
    let at = items.length;
    items.push(item);
    keys.push(key);
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

  pop(): T | undefined {
    const [items, keys] = [this.#items, this.#keys];
    const top = items[0];
    const item = items.pop();
    const key = keys.pop();
    if (item === undefined || key === undefined || items.length === 0) return top;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= keys.length) break;
      if (below + 1 < keys.length && keys[below + 1]! > keys[below]!) below += 1;
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
