import { StoreError } from "./errors.ts";
import { wholeNumber } from "./options.ts";

/** How long a context may be: as a number, or as what a model's window leaves. In tokens of the store's counter. */
export interface TokenBudget {
  /** Most tokens of the whole context. */
  tokensMax?: number;
  /** In its place: the model's context window, of which the context gets what the two below leave. */
  contextWindow?: number;
  /** Of the window, kept free for the model's answer; 0 unless given. */
  reserveTokens?: number;
  /** Of the window, taken by definitions of tools and whatever else the host sends along; 0 unless given. */
  toolTokens?: number;
}

/**
 * Most tokens of a context: `tokensMax`, or `contextWindow - reserveTokens - toolTokens`.
 *
 * @param tokensMaxDefault  Where nothing is given.
 * @throws {StoreError} `OPTION_INVALID` for both, for parts of a window that is not given, for a window that its parts use up,
 *   and for what is no whole number.
 */
export function tokensMaxOf(
  { tokensMax, contextWindow, reserveTokens, toolTokens }: TokenBudget,
  tokensMaxDefault: number,
): number {
  if (contextWindow === undefined) {
    for (const [option, actual] of Object.entries({ reserveTokens, toolTokens })) {
      if (actual === undefined) continue;
      throw new StoreError("OPTION_INVALID", { option, expected: "left out without contextWindow", actual });
    }
    return wholeNumber("tokensMax", tokensMax ?? tokensMaxDefault, 1, Number.MAX_SAFE_INTEGER);
  }
  if (tokensMax !== undefined) {
    const expected = "left out, for contextWindow and what it leaves say the same";
    throw new StoreError("OPTION_INVALID", { option: "tokensMax", expected, actual: tokensMax });
  }
  const window = wholeNumber("contextWindow", contextWindow, 1, Number.MAX_SAFE_INTEGER);
  const reserved =
    wholeNumber("reserveTokens", reserveTokens ?? 0, 0, Number.MAX_SAFE_INTEGER) +
    wholeNumber("toolTokens", toolTokens ?? 0, 0, Number.MAX_SAFE_INTEGER);
  if (reserved < window) return window - reserved;
  const expected = `less than contextWindow (${window}) together`;
  throw new StoreError("OPTION_INVALID", { option: "reserveTokens and toolTokens", expected, actual: reserved });
}
