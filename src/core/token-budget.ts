import * as z from "zod/mini";
import { StoreError } from "./errors.ts";
import { type FieldsOf, whole } from "./schema.ts";

/** The most tokens of a context, by the store's token counter: a number, or the rest of a model's window. */
export interface TokenBudget {
  /** The most tokens of the whole context. */
  tokensMax?: number;
  /** The tokens of the model's context window, from which the two options below are subtracted. Do not give `tokensMax` too. */
  contextWindow?: number;
  /** The tokens of the window reserved for the model's answer; by default 0. */
  reserveTokens?: number;
  /** The tokens of the window that tool definitions take; by default 0. */
  toolTokens?: number;
}

export function tokenBudgetFields() {
  return {
    tokensMax: z.optional(whole(1)),
    contextWindow: z.optional(whole(1)),
    reserveTokens: z.optional(whole(0)),
    toolTokens: z.optional(whole(0)),
  } satisfies FieldsOf<TokenBudget>;
}

/**
 * Returns the most tokens of a context: `tokensMax`, or `contextWindow - reserveTokens - toolTokens`.
 *
 * @throws {StoreError} `OPTION_INVALID` if `tokensMax` and `contextWindow` are both given, if reserved tokens are given without a
 *   window, or if they fill the window.
 */
export function tokensMaxOf(budget: TokenBudget, tokensMaxDefault: number): number {
  const { tokensMax, contextWindow, reserveTokens, toolTokens } = budget;
  const refuse = (option: string, expected: string, actual: number): never => {
    throw new StoreError("OPTION_INVALID", { option, expected, actual });
  };
  if (contextWindow === undefined) {
    if (reserveTokens !== undefined) refuse("reserveTokens", "left out without contextWindow", reserveTokens);
    if (toolTokens !== undefined) refuse("toolTokens", "left out without contextWindow", toolTokens);
    return tokensMax ?? tokensMaxDefault;
  }
  if (tokensMax !== undefined) refuse("tokensMax", "left out if contextWindow is given", tokensMax);
  const reserved = (reserveTokens ?? 0) + (toolTokens ?? 0);
  if (reserved < contextWindow) return contextWindow - reserved;
  return refuse("reserveTokens and toolTokens", `less than contextWindow (${contextWindow}) together`, reserved);
}
