/** The ids and seqs of a session's first and last message. */
export interface SessionSpan {
  sessionId: string;
  firstId: number;
  lastId: number;
  seqFirst: number;
  seqLast: number;
}

/**
 * Returns true if no other session has an id between the first and the last. When a seq rises by one, the id rises by one or
 * more. So equal distances leave no room for another session's message.
 */
export function isUnbroken({ firstId, lastId, seqFirst, seqLast }: SessionSpan): boolean {
  return lastId - firstId === seqLast - seqFirst;
}

/** The messages of some sessions, by ranges of ids: most sessions are appended, or imported, in one go. */
export class SessionMessages {
  readonly #firstIds: Float64Array;
  readonly #lastIds: Float64Array;
  readonly #others: ReadonlySet<number>;

  /**
   * @param spans  The sessions with unbroken ranges, in any order.
   * @param others  The messages of the other sessions.
   */
  constructor(spans: readonly SessionSpan[], others: ReadonlySet<number>) {
    const ordered = spans.toSorted((left, right) => left.firstId - right.firstId);
    this.#firstIds = Float64Array.from(ordered, ({ firstId }) => firstId);
    this.#lastIds = Float64Array.from(ordered, ({ lastId }) => lastId);
    this.#others = others;
  }

  has(messageId: number): boolean {
    let [from, to] = [0, this.#firstIds.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#firstIds[middle]! <= messageId) from = middle + 1;
      else to = middle;
    }
    return (from > 0 && messageId <= this.#lastIds[from - 1]!) || this.#others.has(messageId);
  }
}
