import { setMaxListeners } from "node:events";
import PQueue from "p-queue";
import { StoreError } from "../../core/errors.ts";

const MINUTE_MS = 60_000;

export interface TurnLimits {
  /** Requests under way at once. */
  concurrency: number;
  /** In any 60 seconds; undefined for as many as come. */
  requestsPerMinute: number | undefined;
}

export interface Turn {
  signal: AbortSignal;
  /** As how many requests the service counts it; 1, unless told otherwise. */
  count?: number;
  /** Whether it goes before others that wait. */
  isUrgent?: boolean;
}

/**
 * When the requests of one client are sent: so many at once, so many a minute, first come, first served, and none before the
 * time at which the service said to come again.
 */
export class Turns {
  #places: PQueue;
  #permits: PQueue | undefined;
  #closed: { untilMs: number; failure: StoreError<"MODEL_UNAVAILABLE"> } | undefined;

  constructor({ concurrency, requestsPerMinute }: TurnLimits) {
    this.#places = new PQueue({ concurrency });
    if (requestsPerMinute === undefined) return;
    this.#permits = new PQueue({ interval: MINUTE_MS, intervalCap: requestsPerMinute, strict: true });
  }

  /**
   * Send a request when it is its turn.
   *
   * @param send  A `MODEL_UNAVAILABLE` of its with `retryAfterMs` closes the turns for that long.
   * @throws what `send` does; the signal's reason at once when it is aborted, also while waiting; {StoreError}
   *   `MODEL_UNAVAILABLE` with what is left of `retryAfterMs` while the turns are closed, without a request.
   */
  async take<T>({ signal, count = 1, isUrgent = false }: Turn, send: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    const options = { signal, priority: isUrgent ? 1 : 0 };
    // Calls share a signal, and Node takes more than ten listeners for a leak.
    setMaxListeners(0, signal);
    return this.#places.add(async () => {
      this.#checkOpen();
      await this.#permit(count, options);
      this.#checkOpen();
      try {
        return await send();
      } catch (error) {
        this.#closeAfter(error);
        throw error;
      }
    }, options);
  }

  async #permit(count: number, options: { signal: AbortSignal; priority: number }): Promise<void> {
    const permits = this.#permits;
    if (permits === undefined) return;
    await Promise.all(Array.from({ length: count }, () => permits.add(() => {}, options)));
  }

  #closeAfter(error: unknown): void {
    if (!StoreError.is(error, "MODEL_UNAVAILABLE") || error.details.retryAfterMs === undefined) return;
    const untilMs = performance.now() + error.details.retryAfterMs;
    if (untilMs > (this.#closed?.untilMs ?? 0)) this.#closed = { untilMs, failure: error };
  }

  #checkOpen(): void {
    if (this.#closed === undefined) return;
    const { untilMs, failure } = this.#closed;
    const retryAfterMs = Math.ceil(untilMs - performance.now());
    if (retryAfterMs > 0) throw new StoreError("MODEL_UNAVAILABLE", { ...failure.details, retryAfterMs });
    this.#closed = undefined;
  }
}
