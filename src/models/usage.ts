/** The cost of one reply of a model, usable or not. */
export interface ModelUsage {
  /** Tokens sent, by the service's count, or else by an estimate. */
  inputTokens: number;
  /** Tokens received, including reasoning. */
  outputTokens: number;
  /** US dollars. Undefined if the price is unknown. */
  costUsd?: number;
}

/** Called with the cost of each reply. It must not throw. */
export type OnUsage = (usage: ModelUsage) => void;
