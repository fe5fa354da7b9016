import { setTimeout as wait } from "node:timers/promises";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";

/** The longest that one transaction of an import should hold the file, in milliseconds. Shorter ones take longer together. */
const HELD_MS_MAX = 24;

/** The pause in which other processes get the file, in milliseconds. A waiting writer tries about once a millisecond. */
const PAUSE_MS = 2;

/** The assumed time to write a message before any was written, in milliseconds. */
const MESSAGE_MS_FIRST = 0.5;

/** The share of the newest transaction in the moving average. */
const NEWEST_SHARE = 0.25;

/** Decides how many messages go into the next transaction of an import, and when other processes get their turn. */
export class ImportPace {
  #messageMs = MESSAGE_MS_FIRST;
  #heldMs = 0;

  /** The most messages of the next transaction. */
  get messageCount(): number {
    return Math.max(1, Math.min(Math.floor(HELD_MS_MAX / this.#messageMs), BATCH_MESSAGES_MAX));
  }

  /** Records how long a transaction took. */
  note(messageCount: number, ms: number): void {
    this.#heldMs += ms;
    this.#messageMs += NEWEST_SHARE * (ms / messageCount - this.#messageMs);
  }

  /** Pauses if the file was held for long since the last pause. */
  async pause(): Promise<void> {
    if (this.#heldMs < HELD_MS_MAX / 2) return;
    this.#heldMs = 0;
    await wait(PAUSE_MS);
  }
}
