export interface Reservation {
  callCount: number;
  tokenCount: number;
}

/** The calls and tokens that remain. A running call counts with the most tokens that it may take. */
export class CallBudget {
  #calls: number;
  #tokens: number;

  constructor(callsMax = Number.POSITIVE_INFINITY, tokensMax = Number.POSITIVE_INFINITY) {
    this.#calls = callsMax;
    this.#tokens = tokensMax;
  }

  /** Returns false, and reserves nothing, if too little remains. */
  reserve({ callCount, tokenCount }: Reservation): boolean {
    if (callCount > this.#calls || tokenCount > this.#tokens) return false;
    this.#calls -= callCount;
    this.#tokens -= tokenCount;
    return true;
  }

  /** Replaces a reservation by the calls and tokens that were spent, which may be more. */
  release(reserved: Reservation, spent: Reservation): void {
    this.#calls += reserved.callCount - spent.callCount;
    this.#tokens += reserved.tokenCount - spent.tokenCount;
  }
}

/** Counts the calls and tokens of one task. */
export class Spending implements Reservation {
  callCount = 0;
  tokenCount = 0;
  /** The estimate for the last call, which is a part of `tokenCount`. */
  #estimated = 0;
  #reported = 0;

  begin(tokenCount: number): void {
    this.callCount += 1;
    this.tokenCount += tokenCount;
    this.#estimated = tokenCount;
  }

  /** Replaces the estimate by the service's count for all calls so far. */
  report({ inputTokens, outputTokens }: { inputTokens: number | null; outputTokens: number | null }): void {
    const reported = (inputTokens ?? 0) + (outputTokens ?? 0);
    this.tokenCount += reported - this.#reported - this.#estimated;
    this.#reported = reported;
    this.#estimated = 0;
  }
}
