import { setTimeout as wait } from "node:timers/promises";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";

/** The target duration of a transaction, in milliseconds. With shorter transactions, an import takes longer. */
const TRANSACTION_MS = 24;

/** How long other processes get the file, in milliseconds. A waiting writer tries about once a millisecond. */
const PAUSE_MS = 2;

const MESSAGE_MS_FIRST = 0.5;

const NEWEST_WEIGHT = 0.25;

/** Decides the size of the next transaction of an import, and when other processes get their turn. */
export class ImportPace {
  #messageMs = MESSAGE_MS_FIRST;
  #heldMs = 0;

  get messageCount(): number {
    return Math.max(1, Math.min(Math.floor(TRANSACTION_MS / this.#messageMs), BATCH_MESSAGES_MAX));
  }

  note(messageCount: number, ms: number): void {
    this.#heldMs += ms;
    this.#messageMs += NEWEST_WEIGHT * (ms / messageCount - this.#messageMs);
  }

  /** Leaves the file to other processes if it was held for long. Call it between two transactions. */
  async pause(): Promise<void> {
    if (this.#heldMs < TRANSACTION_MS / 2) return;
    this.#heldMs = 0;
    await wait(PAUSE_MS);
  }
}
