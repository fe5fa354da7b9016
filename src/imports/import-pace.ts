import { setTimeout as wait } from "node:timers/promises";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";

/**
 * How long another process's append may wait for an import. Shorter transactions would take longer together: a page that
 * several messages touch is written once in each.
 */
const HELD_MS_MAX = 24;

/** How long the import then leaves the file to others. Who waits for the lock tries each millisecond. */
const PAUSE_MS = 2;

/** What a message takes before any was written. */
const MESSAGE_MS_FIRST = 0.5;
/** Share of the newest transaction in what a message takes. */
const NEWEST_SHARE = 0.25;

/** How many messages of an import go into one transaction, by how long the last ones took, and when others get their turn. */
export class ImportPace {
  #messageMs = MESSAGE_MS_FIRST;
  #heldMs = 0;

  /** Messages of the next transaction at most. */
  get messageCount(): number {
    return Math.max(1, Math.min(Math.floor(HELD_MS_MAX / this.#messageMs), BATCH_MESSAGES_MAX));
  }

  /** A transaction of so many messages took so long. */
  note(messageCount: number, ms: number): void {
    this.#heldMs += ms;
    this.#messageMs += NEWEST_SHARE * (ms / messageCount - this.#messageMs);
  }

  /** Let others have the file, where it was held for long. */
  async pause(): Promise<void> {
    if (this.#heldMs < HELD_MS_MAX / 2) return;
    this.#heldMs = 0;
    await wait(PAUSE_MS);
  }
}
