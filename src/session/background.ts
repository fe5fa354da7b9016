import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";

/** Work in the background that goes on until it is stopped, or the store closes. */
export interface Resolving extends AsyncDisposable {
  /** What is under way is given up. @returns when nothing of it is left. */
  stop(): Promise<void>;
}

export interface BackgroundPorts {
  /** Aborted when the store closes. */
  closing: AbortSignal;
  clock: Clock;
  /** Do what there is to do. @returns when the rest may be tried again, in Unix milliseconds; undefined where nobody can say. */
  resolve(signal: AbortSignal): Promise<number | undefined>;
}

/** Milliseconds after an append before it is looked at: what comes in one go is looked at once. */
const DEBOUNCE_MS = 50;

/** Milliseconds of the longest sleep: a machine that was asleep itself, or a clock that was set, is noticed after so long. */
const SLEEP_MS_MAX = 60_000;

/** When a store that could not be read or written is tried again. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: SLEEP_MS_MAX };

/**
 * Resolves at once, after each change of the session, and when something may be tried again; never twice at a time.
 *
 *     idle      nothing is known to be done         → waiting, when it is woken
 *     waiting   a timer runs                        → running, when it goes off; a wake may bring it forward
 *     running   `resolve` is under way              → waiting or idle, when that has ended; a wake is remembered
 *     stopped   for good
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

  /** Unless it is to run earlier anyway. */
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

  /** Never rejects: what fails is tried again. */
  async #run(): Promise<void> {
    try {
      const nextTryAtMs = await this.#ports.resolve(this.#stopping.signal);
      this.#failureCount = 0;
      if (nextTryAtMs === undefined) return;
      this.#runIn(Math.min(SLEEP_MS_MAX, Math.max(DEBOUNCE_MS, nextTryAtMs - this.#ports.clock())));
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (StoreError.is(error, "SESSION_NOT_FOUND")) return this.#close(); // forgotten
      // The store is locked, its disk is full: that may pass.
      if (this.#failureCount === 0) warn(error);
      this.#failureCount += 1;
      this.#runIn(backoffMs(this.#failureCount, BACKOFF));
    }
  }
}

function warn(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  process.emitWarning(`Resolving in the background failed, and is tried again: ${text}`, "CoppiceWarning");
}
