/** Most that calls of a model may come to. */
export interface CallLimits {
  /** Calls; any number unless given. */
  callsMax?: number | undefined;
  /** Tokens that are sent and received, by the service's count where it reports them, else estimated; any number unless given. */
  tokensMax?: number | undefined;
}

/** What is set aside for calls that are about to be made. */
export interface Reservation {
  callCount: number;
  tokenCount: number;
}

/** What is left of the limits. Calls that are under way count with what they may come to. */
export class CallBudget {
  #calls: number;
  #tokens: number;

  constructor({ callsMax, tokensMax }: CallLimits) {
    this.#calls = callsMax ?? Number.POSITIVE_INFINITY;
    this.#tokens = tokensMax ?? Number.POSITIVE_INFINITY;
  }

  /** @returns false, and nothing is set aside, where that is more than is left. */
  reserve({ callCount, tokenCount }: Reservation): boolean {
    if (callCount > this.#calls || tokenCount > this.#tokens) return false;
    this.#calls -= callCount;
    this.#tokens -= tokenCount;
    return true;
  }

  /** The calls were made, or given up. What they came to may be more than was set aside. */
  settle(reserved: Reservation, spent: Reservation): void {
    this.#calls += reserved.callCount - spent.callCount;
    this.#tokens += reserved.tokenCount - spent.tokenCount;
  }
}

/** What the calls for one summary come to, so far. */
export class Spending implements Reservation {
  callCount = 0;
  tokenCount = 0;
  /** Of `tokenCount`, what is estimated of the call that was begun last. */
  #estimated = 0;
  #reported = 0;

  /** A call is begun that may come to so many tokens. */
  begin(tokenCount: number): void {
    this.callCount += 1;
    this.tokenCount += tokenCount;
    this.#estimated = tokenCount;
  }

  /** What all its replies have cost so far, by the service's count: in place of what was estimated of the last one. */
  report({ inputTokens, outputTokens }: { inputTokens: number | null; outputTokens: number | null }): void {
    const reported = (inputTokens ?? 0) + (outputTokens ?? 0);
    this.tokenCount += reported - this.#reported - this.#estimated;
    this.#reported = reported;
    this.#estimated = 0;
  }
}
