import type { Resolving } from "../../session/background.ts";
import type { OpenedStore } from "../../session/opened-store.ts";

/** Only this many sessions are followed: those that were written to last. */
const RESOLVING_MAX = 16;

export class SummaryFollower {
  readonly #store: OpenedStore;
  readonly #resolving = new Map<string, Resolving>();

  constructor(store: OpenedStore) {
    this.#store = store;
  }

  /** Keeps the summaries of a session current, until too many other sessions have been written to. */
  follow(sessionId: string): void {
    const known = this.#resolving.get(sessionId);
    this.#resolving.delete(sessionId);
    this.#resolving.set(sessionId, known ?? this.#store.resume(sessionId).followImported());
    if (this.#resolving.size <= RESOLVING_MAX) return;
    const [oldest, resolving] = this.#resolving.entries().next().value!;
    this.#resolving.delete(oldest);
    void resolving.stop();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#resolving.values()].map((resolving) => resolving.stop()));
    this.#resolving.clear();
  }
}
