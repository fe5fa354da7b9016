/** The most sessions of one store that keep their window, open clusters and last context in memory. */
const RESIDENT_MAX = 64;

/**
 * Keeps the sessions used last in memory, and releases the others. Without it, a program that reads thousands of sessions would
 * hold all their windows. A released session is loaded again in milliseconds.
 */
export class ResidentSessions {
  /** Keyed by session id, the least recently used first. */
  readonly #releases = new Map<string, () => void>();
  #newest: string | undefined;

  /** Records a use of a session. @param release  Drops what the session holds in memory. */
  touch(sessionId: string, release: () => void): void {
    if (sessionId === this.#newest) return;
    this.#newest = sessionId;
    this.#releases.delete(sessionId);
    this.#releases.set(sessionId, release);
    if (this.#releases.size <= RESIDENT_MAX) return;
    const [oldest, releaseOldest] = this.#releases.entries().next().value!;
    this.#releases.delete(oldest);
    releaseOldest();
  }
}
