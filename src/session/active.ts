/**
 * The sessions that this process is working on. The times of messages do not tell: a program that appends an old conversation
 * turn by turn is in the middle of it, whatever the messages' dates.
 */
export class ActiveSessions {
  /** The sessions changed since the last look. An append only adds its session, without asking a clock. */
  readonly #changed = new Set<string>();
  /** The time of the last look that found a session changed, by session. */
  readonly #seenAtMs = new Map<string, number>();

  note(sessionId: string): void {
    this.#changed.add(sessionId);
  }

  look(nowMs: number): void {
    for (const sessionId of this.#changed) this.#seenAtMs.set(sessionId, nowMs);
    this.#changed.clear();
  }

  /** True if the session has changed since the last look, or a look after `after` found it changed. */
  isActive(sessionId: string, after: number): boolean {
    if (this.#changed.has(sessionId)) return true;
    const seenAtMs = this.#seenAtMs.get(sessionId);
    if (seenAtMs !== undefined && seenAtMs <= after) this.#seenAtMs.delete(sessionId);
    return seenAtMs !== undefined && seenAtMs > after;
  }
}
