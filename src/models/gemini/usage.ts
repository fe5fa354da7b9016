import * as z from "zod/mini";
import { once } from "../../core/once.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { ModelUsage } from "../usage.ts";
import { type TokenPrices, withCost } from "./prices.ts";

/** The `usageMetadata` of a response. Malformed counts are ignored: they must not make a good reply fail. */
export const usageSchema = once(() => {
  const count = z.catch(z.nullish(z.int().check(z.gte(0))), undefined);
  const counts = { promptTokenCount: count, candidatesTokenCount: count, thoughtsTokenCount: count };
  return z.catch(z.nullish(z.object(counts)), undefined);
});

const replySchema = once(() => z.object({ usageMetadata: usageSchema() }));

/** Adds up the service's counts. Missing counts are 0. */
export function tokensIn(usage: NonNullable<z.infer<ReturnType<typeof usageSchema>>>): ModelUsage {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage;
  return { inputTokens: promptTokenCount ?? 0, outputTokens: (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0) };
}

/**
 * Returns the cost of a reply, usable or not. If the service did not count the input, an estimate of `sent` is used: for
 * embeddings the SDK (2.32) leaves out the count.
 *
 * @param response  The SDK's response, of any shape.
 */
export function usageOf(response: unknown, sent: readonly string[], prices: TokenPrices | undefined): ModelUsage {
  const counted = z.safeParse(replySchema(), response).data?.usageMetadata ?? {};
  const estimate = (): number => sent.reduce((tokens, text) => tokens + estimateTokens(text), 0);
  const inputTokens = counted.promptTokenCount ?? estimate();
  return withCost({ ...tokensIn(counted), inputTokens }, prices);
}
