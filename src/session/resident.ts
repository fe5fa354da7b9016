/** Sessions of one store that keep their window, open clusters and last context in memory. */
const RESIDENT_MAX = 64;

/**
 * Which sessions of a store are in memory: those used last. A program that goes through thousands of sessions would
 * otherwise hold the windows of all of them; what is released is loaded again in milliseconds when it is needed.
 */
export class ResidentSessions {
  /** By session id, the one used longest ago first. */
  readonly #releases = new Map<string, () => void>();
  #newest: string | undefined;

  /** Note a use. @param release  Drops what the session holds. */
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
