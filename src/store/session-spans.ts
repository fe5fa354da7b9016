/** Messages of one session from its first to its last. */
export interface SessionSpan {
  sessionId: string;
  firstId: number;
  lastId: number;
  firstSeq: number;
  lastSeq: number;
}

/**
 * Whether all ids between the first and the last are the session's own. Ids rise by one or more where places rise by one,
 * so that equal distances leave no room for another's; those of forgotten messages are nobody's.
 */
export function isUnbroken({ firstId, lastId, firstSeq, lastSeq }: SessionSpan): boolean {
  return lastId - firstId === lastSeq - firstSeq;
}

/** The messages of some sessions, told from others by their ids alone: most sessions were appended, or imported, in one go. */
export class SessionMessages {
  readonly #firstIds: Float64Array;
  readonly #lastIds: Float64Array;
  readonly #others: ReadonlySet<number>;

  /**
   * @param spans  Unbroken ones, in any order.
   * @param others  Messages of the other sessions.
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
