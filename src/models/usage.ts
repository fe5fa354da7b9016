/** What one reply of a model cost, whether it could be used or not. */
export interface ModelUsage {
  /** Tokens that were sent, by the service's own count, or by an estimate where it gives none. */
  inputTokens: number;
  /** Tokens that came back, thoughts included. */
  outputTokens: number;
  /** US dollars; undefined where the model's price is not known. */
  costUsd?: number;
}

/** Told of each reply as it comes. It must not throw. */
export type OnUsage = (usage: ModelUsage) => void;
