/** A binary heap that returns the item with the greatest key first. */
export class MaxHeap<T> {
  readonly #entries: { item: T; key: number }[] = [];

  /** The greatest key; minus infinity if the heap is empty. */
  get topKey(): number {
    return this.#entries[0]?.key ?? Number.NEGATIVE_INFINITY;
  }

  push(item: T, key: number): void {
    const entries = this.#entries;
    let at = entries.length;
    entries.push({ item, key });
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (entries[above]!.key >= key) break;
      entries[at] = entries[above]!;
      at = above;
    }
    entries[at] = { item, key };
  }

  pop(): { item: T; key: number } | undefined {
    const entries = this.#entries;
    const top = entries[0];
    const last = entries.pop();
    if (top === undefined || last === undefined || entries.length === 0) return top;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= entries.length) break;
      if (below + 1 < entries.length && entries[below + 1]!.key > entries[below]!.key) below += 1;
      if (entries[below]!.key <= last.key) break;
      entries[at] = entries[below]!;
      at = below;
    }
    entries[at] = last;
    return top;
  }
}
