import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";

/** Background work that continues until it is stopped or the store closes. */
export interface Resolving extends AsyncDisposable {
  /** Ends the work and aborts calls in progress. The promise resolves when nothing runs any more. */
  stop(): Promise<void>;
}

export interface BackgroundPorts {
  /** Aborted when the store closes. */
  closing: AbortSignal;
  clock: Clock;
  /** Does the work that is due. @returns when to try the remaining work again, in Unix milliseconds; undefined if unknown. */
  resolve(signal: AbortSignal): Promise<number | undefined>;
}

/** Milliseconds between an append and the next run, so that several appends in a row cause one run. */
const DEBOUNCE_MS = 50;

/** The longest sleep in milliseconds. A suspended machine or a changed clock is noticed within this time. */
const SLEEP_MS_MAX = 60_000;

/** The delays after the store could not be read or written. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: SLEEP_MS_MAX };

/**
 * Calls `resolve` at once, after each change of the session, and when a failed summary may be tried again. Calls never overlap.
 *
 *     idle      nothing is known to be due          → waiting, on a wake
 *     waiting   a timer runs                        → running, when the timer fires; a wake may shorten the wait
 *     running   `resolve` runs                      → waiting or idle, at its end; a wake is remembered
 *     stopped   the final state
 *
 * Its timers keep no process alive.
 */
export class Background implements Resolving {
  readonly #ports: BackgroundPorts;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #failureCount = 0;

  constructor(ports: BackgroundPorts) {
    this.#ports = ports;
    ports.closing.addEventListener("abort", this.#close);
    this.#runIn(0);
  }

  wake(): void {
    if (this.#running === undefined) this.#runIn(DEBOUNCE_MS);
    else this.#isWoken = true;
  }

  async stop(): Promise<void> {
    this.#close();
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  readonly #close = (): void => {
    this.#stopping.abort(this.#ports.closing.reason);
    clearTimeout(this.#timer);
    this.#ports.closing.removeEventListener("abort", this.#close);
  };

  /** Starts the timer, unless one fires earlier. */
  #runIn(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#stopping.signal.aborted || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        if (this.#isWoken) this.#runIn(DEBOUNCE_MS);
        this.#isWoken = false;
      });
    }, delayMs).unref();
  }

  /** Never rejects: after an error, it tries again later. */
  async #run(): Promise<void> {
    try {
      const nextTryAtMs = await this.#ports.resolve(this.#stopping.signal);
      this.#failureCount = 0;
      if (nextTryAtMs === undefined) return;
      this.#runIn(Math.min(SLEEP_MS_MAX, Math.max(DEBOUNCE_MS, nextTryAtMs - this.#ports.clock())));
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (StoreError.is(error, "SESSION_NOT_FOUND")) return this.#close(); // forgotten
      // A locked store or a full disk may be a passing problem.
      if (this.#failureCount === 0) warn(error);
      this.#failureCount += 1;
      this.#runIn(backoffMs(this.#failureCount, BACKOFF));
    }
  }
}

function warn(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  process.emitWarning(`Resolving in the background failed and will be tried again: ${text}`, "CoppiceWarning");
}
