import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";

/** Background work that continues until it is stopped or the store closes. */
export interface Resolving extends AsyncDisposable {
  /** Ends the work and aborts calls in progress. The promise resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Milliseconds between an append and the next run, so that several appends in a row cause one run. */
const DEBOUNCE_MS = 50;

/** The longest sleep in milliseconds. A suspended machine or a changed clock is noticed within this time. */
const SLEEP_MS_MAX = 60_000;

/** The delays after the store could not be read or written. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: SLEEP_MS_MAX };

/**
 * Calls `resolve` at once, after each change of the session, and when a failed summary may be tried again. Calls never overlap.
 * Its timers keep no process alive.
 */
export class Background implements Resolving {
  readonly #clock: Clock;
  readonly #resolve: (signal: AbortSignal) => Promise<number | undefined>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #failureCount = 0;

  /**
   * @param closing  Ends the work.
   * @param resolve  Does the work that is due. It returns when to try the rest, in Unix milliseconds; undefined if unknown.
   */
  constructor(closing: AbortSignal, clock: Clock, resolve: (signal: AbortSignal) => Promise<number | undefined>) {
    this.#clock = clock;
    this.#resolve = resolve;
    this.#signal = AbortSignal.any([closing, this.#stopping.signal]);
    this.#runIn(0);
  }

  /** Says that the session has changed. */
  wake(): void {
    if (this.#running === undefined) this.#runIn(DEBOUNCE_MS);
    else this.#isWoken = true;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Starts the timer, unless one fires earlier. */
  #runIn(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#signal.aborted || atMs >= this.#timerAtMs) return;
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
      if (this.#signal.aborted) return;
      const nextTryAtMs = await this.#resolve(this.#signal);
      this.#failureCount = 0;
      if (nextTryAtMs === undefined) return;
      this.#runIn(Math.min(SLEEP_MS_MAX, Math.max(DEBOUNCE_MS, nextTryAtMs - this.#clock())));
    } catch (error) {
      if (this.#signal.aborted) return;
      if (StoreError.is(error, "SESSION_NOT_FOUND")) return this.#stopping.abort(); // forgotten
      // A locked store or a full disk may be a passing problem.
      if (this.#failureCount === 0) {
        const text = error instanceof Error ? error.message : String(error);
        const warning = `Resolving in the background failed and will be tried again: ${text}`;
        process.emitWarning(warning, "CoppiceWarning");
      }
      this.#failureCount += 1;
      this.#runIn(backoffMs(this.#failureCount, BACKOFF));
    }
  }
}
