import { z } from "zod";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { ModelUsage } from "../usage.ts";
import { type TokenPrices, withCost } from "./prices.ts";

const COUNT = z.int().nonnegative().nullish().catch(undefined);
const REPLY = z.object({
  usageMetadata: z
    .object({ promptTokenCount: COUNT, candidatesTokenCount: COUNT, thoughtsTokenCount: COUNT })
    .nullish()
    .catch(undefined),
});

/**
 * What a reply cost, usable or not: by the service's count, else by our estimate of what was sent.
 *
 * Of a reply to embed, the service counts tokens for some models, but the SDK (2.32) leaves that out.
 *
 * @param response  What the SDK gives for it, of any shape.
 */
export function usageOf(response: unknown, sent: readonly string[], prices: TokenPrices | undefined): ModelUsage {
  const counted = REPLY.safeParse(response).data?.usageMetadata;
  const estimate = (): number => sent.reduce((tokens, text) => tokens + estimateTokens(text), 0);
  const inputTokens = counted?.promptTokenCount ?? estimate();
  const outputTokens = (counted?.candidatesTokenCount ?? 0) + (counted?.thoughtsTokenCount ?? 0);
  return withCost({ inputTokens, outputTokens }, prices);
}
