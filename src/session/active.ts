/**
 * Which sessions this process is working on. The times of messages do not tell: whoever brings in an old conversation
 * turn by turn is in the middle of it, whatever its dates.
 */
export class ActiveSessions {
  /** Since the last look. An append notes itself here and asks no clock. */
  readonly #changed = new Set<string>();
  /** By session, the time of the look that found it changed. */
  readonly #seenAtMs = new Map<string, number>();

  note(sessionId: string): void {
    this.#changed.add(sessionId);
  }

  look(nowMs: number): void {
    for (const sessionId of this.#changed) this.#seenAtMs.set(sessionId, nowMs);
    this.#changed.clear();
  }

  /** Whether it has changed since the last look, or a look after this moment found it changed. */
  isActive(sessionId: string, after: number): boolean {
    if (this.#changed.has(sessionId)) return true;
    const seenAtMs = this.#seenAtMs.get(sessionId);
    if (seenAtMs !== undefined && seenAtMs <= after) this.#seenAtMs.delete(sessionId);
    return seenAtMs !== undefined && seenAtMs > after;
  }
}
