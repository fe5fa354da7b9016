import { setMaxListeners } from "node:events";
import PQueue from "p-queue";

export interface RequestLimits {
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

/** Sends the requests of one client in the order of their arrival, within its limits. */
export class RequestQueue {
  #slots: PQueue;
  #permits: PQueue | undefined;

  constructor({ concurrency, requestsPerMinute }: RequestLimits) {
    this.#slots = new PQueue({ concurrency });
    if (requestsPerMinute === undefined) return;
    this.#permits = new PQueue({ interval: 60_000, intervalCap: requestsPerMinute, strict: true });
  }

  /** Sends a request when its turn has come. @throws the error of `request`; the signal's reason if aborted, even while waiting. */
  async send<T>({ signal, count = 1, isUrgent = false }: QueuedRequest, request: () => Promise<T>): Promise<T> {
    const options = { signal, priority: isUrgent ? 1 : 0 };
    const permits = this.#permits;
    // Calls share a signal, and Node warns of a leak if it has more than ten listeners.
    setMaxListeners(0, signal);
    return this.#slots.add(async () => {
      if (permits) await Promise.all(Array.from({ length: count }, () => permits.add(() => {}, options)));
      return request();
    }, options);
  }
}
