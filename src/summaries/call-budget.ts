/** The most that calls of a model may come to. */
export interface CallLimits {
  /** Calls; any number unless given. */
  callsMax?: number | undefined;
  /** Tokens sent and received, by the service's count if it reports one, else estimated; any number unless given. */
  tokensMax?: number | undefined;
}

/** Calls and their tokens: set aside, or spent. */
export interface Reservation {
  callCount: number;
  tokenCount: number;
}

/** What is left of the limits. Calls under way count with what they may come to. */
export class CallBudget {
  #calls: number;
  #tokens: number;

  constructor({ callsMax, tokensMax }: CallLimits) {
    this.#calls = callsMax ?? Number.POSITIVE_INFINITY;
    this.#tokens = tokensMax ?? Number.POSITIVE_INFINITY;
  }

  /** Sets calls aside. @returns false, with nothing set aside, if too little is left. */
  reserve({ callCount, tokenCount }: Reservation): boolean {
    if (callCount > this.#calls || tokenCount > this.#tokens) return false;
    this.#calls -= callCount;
    this.#tokens -= tokenCount;
    return true;
  }

  /** Replaces a reservation by what was spent, which may be more. */
  release(reserved: Reservation, spent: Reservation): void {
    this.#calls += reserved.callCount - spent.callCount;
    this.#tokens += reserved.tokenCount - spent.tokenCount;
  }
}

/** What the calls for one summary have come to so far. */
export class Spending implements Reservation {
  callCount = 0;
  tokenCount = 0;
  /** The part of `tokenCount` that is estimated: the call begun last. */
  #estimated = 0;
  #reported = 0;

  /** Counts a call that may come to this many tokens. */
  begin(tokenCount: number): void {
    this.callCount += 1;
    this.tokenCount += tokenCount;
    this.#estimated = tokenCount;
  }

  /** Takes the service's count for all calls so far, in place of the estimate for the last one. */
  report({ inputTokens, outputTokens }: { inputTokens: number | null; outputTokens: number | null }): void {
    const reported = (inputTokens ?? 0) + (outputTokens ?? 0);
    this.tokenCount += reported - this.#reported - this.#estimated;
    this.#reported = reported;
    this.#estimated = 0;
  }
}
