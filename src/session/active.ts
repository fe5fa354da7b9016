/**
 * The sessions that this process has changed lately. The dates of messages do not show that, because a program may append an old
 * conversation turn by turn.
 */
export class ActiveSessions {
  /** The sessions changed since the last call of `isActive`. An append adds its session here without reading the clock. */
  readonly #changed = new Set<string>();
  /** Keyed by session: the time of the last call of `isActive` that found it changed. */
  readonly #seenAtMs = new Map<string, number>();

  note(sessionId: string): void {
    this.#changed.add(sessionId);
  }

  look(nowMs: number): void {
    for (const sessionId of this.#changed) this.#seenAtMs.set(sessionId, nowMs);
    this.#changed.clear();
  }

  /** Returns true if the session has changed since the last call, or if a call after the time `after` found it changed. */
  isActive(sessionId: string, after: number): boolean {
    if (this.#changed.has(sessionId)) return true;
    const seenAtMs = this.#seenAtMs.get(sessionId);
    if (seenAtMs !== undefined && seenAtMs <= after) this.#seenAtMs.delete(sessionId);
    return seenAtMs !== undefined && seenAtMs > after;
  }
}
