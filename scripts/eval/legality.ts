import { readConversations } from "./conversations.ts";
import { emptyTally, figuresOf, replay } from "./replay.ts";

/**
 * Whether providers accept what is rendered, whether it keeps budget and promises, and what of it a prompt cache holds.
 * Each session is appended message by message to a store of its own; `resolveDirty` runs before each message of the user,
 * as a host would let it. At 12 cuts a context is rendered in 4 budgets.
 *
 * - `legal`: percent of these contexts that `breachesOf` finds nothing in. Calls that are open at the very end, as they are
 *   where a cut falls between a call and its result, count as the host will send them: answered.
 * - `legalAsRendered`: the same with these left open, which no provider accepts.
 * - `overBudget`: contexts that cost more than their budget, counted again from the messages.
 * - `unaccounted`: messages that `sources` and `omitted` name not once, over all contexts.
 * - `refused`: renders that `BUDGET_TOO_SMALL` refused. They are in no other figure.
 * - `prefixKept`: rendered after each message at 16,000 tokens, the mean share of a context's bytes that the next one
 *   begins with; `tokensResent`: mean tokens of a context that the one before did not begin with.
 *
 * @param dataFolder  With `entire/` and `transcripts/`.
 */
export async function legalityFigures(dataFolder: string): Promise<Record<string, number>> {
  const tally = emptyTally("union-find");
  const conversations = await readConversations(dataFolder);
  for (const conversation of conversations) await replay(conversation, tally);
  return { sessions: conversations.length, ...figuresOf(tally) };
}
