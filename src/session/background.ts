import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";

/** Background work that continues until you stop it or the store closes. */
export interface Resolving extends AsyncDisposable {
  /** Ends the work and aborts the calls in progress. The promise resolves when nothing runs. */
  stop(): Promise<void>;
}

/** After an append, the next run waits this long, so that several appends cause one run. */
const DEBOUNCE_MS = 50;

/** A run is late by this much at most after the machine was suspended or its clock was changed. */
const SLEEP_MS_MAX = 60_000;

const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: SLEEP_MS_MAX };

/** Calls `resolve` now, after each change of the session, and when a failed summary may be tried again. Calls never overlap. */
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

  /** @param resolve  Does the work that is due. Returns when to try the rest, in Unix milliseconds, if it is known. */
  constructor(closing: AbortSignal, clock: Clock, resolve: (signal: AbortSignal) => Promise<number | undefined>) {
    this.#clock = clock;
    this.#resolve = resolve;
    this.#signal = AbortSignal.any([closing, this.#stopping.signal]);
    this.#runIn(0);
  }

  /** Call this after each change of the session. */
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

  #runIn(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#signal.aborted || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      // Node rounds, so a timer may be early by a millisecond.
      const leftMs = atMs - performance.now();
      if (leftMs > 0) return this.#runIn(leftMs);
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        if (this.#isWoken) this.#runIn(DEBOUNCE_MS);
        this.#isWoken = false;
      });
    }, delayMs).unref();
  }

  /** Never rejects. After an error, it starts the timer for another run. */
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
      // A locked store or a full disk is often temporary.
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
