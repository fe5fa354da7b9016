import { setMaxListeners } from "node:events";
import PQueue from "p-queue";
import { StoreError } from "../../core/errors.ts";

const MINUTE_MS = 60_000;

export interface RequestLimits {
  /** The most concurrent requests. */
  concurrency: number;
  /** The most requests in any 60 seconds. Undefined for no limit. */
  requestsPerMinute: number | undefined;
}

export interface QueuedRequest {
  signal: AbortSignal;
  /** The number of requests that the service counts. Default: 1. */
  count?: number;
  /** True to send the request before other waiting requests. */
  isUrgent?: boolean;
}

/**
 * Schedules the requests of one client in the order of their arrival, within limits at once and per minute. Until a time that
 * the service names, it sends nothing.
 */
export class RequestQueue {
  #slots: PQueue;
  #permits: PQueue | undefined;
  #closed: { untilMs: number; failure: StoreError<"MODEL_UNAVAILABLE"> } | undefined;

  constructor({ concurrency, requestsPerMinute }: RequestLimits) {
    this.#slots = new PQueue({ concurrency });
    if (requestsPerMinute === undefined) return;
    this.#permits = new PQueue({ interval: MINUTE_MS, intervalCap: requestsPerMinute, strict: true });
  }

  /**
   * Sends a request when it is its turn.
   *
   * @param request  If it throws `MODEL_UNAVAILABLE` with `retryAfterMs`, the queue is closed for that time.
   * @throws the error of `request`; the signal's reason once it is aborted, even while waiting; {StoreError} `MODEL_UNAVAILABLE`
   *   with the remaining `retryAfterMs` while the queue is closed.
   */
  async send<T>({ signal, count = 1, isUrgent = false }: QueuedRequest, request: () => Promise<T>): Promise<T> {
    this.#checkOpen();
    const options = { signal, priority: isUrgent ? 1 : 0 };
    // Calls share a signal, and Node warns of a leak at more than ten listeners.
    setMaxListeners(0, signal);
    return this.#slots.add(async () => {
      this.#checkOpen();
      await this.#permit(count, options);
      this.#checkOpen();
      try {
        return await request();
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
