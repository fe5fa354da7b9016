import { StoreError } from "../../core/errors.ts";
import type { Resolving } from "../../session/background.ts";
import { internalsOf, type OpenedStore } from "../../session/opened-store.ts";
import type { Store } from "../../session/store.ts";

/** Sessions whose summaries follow each message: those that were written to last. */
const RESOLVING_MAX = 16;

/**
 * The summaries of what a watch brings in: those of finished conversations once, those of conversations that go on as they
 * grow. All of it happens between appends, and none of them waits for it.
 */
export class Summaries {
  readonly #store: OpenedStore;
  readonly #signal: AbortSignal;
  readonly #resolving = new Map<string, Resolving>();

  /** @param signal  Ends what is under way. */
  constructor(store: Store, signal: AbortSignal) {
    this.#store = internalsOf(store);
    this.#signal = signal;
  }

  /** A session that others write to: from now on it is looked after, until too many others have been written to since. */
  follow(sessionId: string): void {
    const known = this.#resolving.get(sessionId);
    this.#resolving.delete(sessionId);
    this.#resolving.set(sessionId, known ?? this.#store.resume(sessionId).startResolving());
    if (this.#resolving.size <= RESOLVING_MAX) return;
    const [oldest, resolving] = this.#resolving.entries().next().value!;
    this.#resolving.delete(oldest);
    void resolving.stop();
  }

  /**
   * What `coppice import` does at its end, for these sessions: let the store do its upkeep, and summarize whatever is not among
   * the newest messages.
   *
   * @throws the signal's reason; what `Session.resolveDirty` throws.
   */
  async complete(sessionIds: Iterable<string>): Promise<void> {
    const signal = this.#signal;
    await this.#store.upkeep({ signal }); // sessions that come to rest have more to summarize
    for (const sessionId of sessionIds) {
      signal.throwIfAborted();
      try {
        const session = this.#store.resume(sessionId);
        session.compact({ strategy: "union-find" });
        await session.resolveAlone({ signal });
        session.compact({ strategy: "union-find" }); // takes the summaries into the context
      } catch (error) {
        if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error; // forgotten meanwhile
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#resolving.values()].map((resolving) => resolving.stop()));
    this.#resolving.clear();
  }
}
