import { figuresOf } from "./replay.ts";
import { replayAll } from "./replay-task.ts";

/**
 * Checks that providers accept rendered contexts, that contexts keep their budgets and account for all messages, and measures
 * how much of a context a prompt cache keeps. Each session is appended message by message to its own store, with
 * `resolveDirty` before each message of the user, as a host would do. At 12 cuts a context is rendered in 4 budgets.
 *
 * - `legal`: percent of these contexts in which `breachesOf` finds nothing. If a cut is between a call and its result, the call
 *   counts as answered, because the host appends the result before it sends the context.
 * - `legalAsRendered`: the same with these calls left open, which no provider accepts.
 * - `overBudget`: contexts that cost more than their budget, counted again from the messages.
 * - `unaccounted`: messages that `sources` and `omitted` do not name exactly once, over all contexts.
 * - `refused`: renders that `BUDGET_TOO_SMALL` refused. They are in no other figure.
 * - `prefixKept`: with a render after each message at 16,000 tokens, the mean share of a context's bytes that the next one
 *   begins with. `tokensResent`: the mean tokens of a context after the part that it shares with the one before.
 *
 * @param dataFolder  The folder with `entire/` and `transcripts/`.
 */
export async function legalityFigures(dataFolder: string): Promise<Record<string, number>> {
  const [tally] = await replayAll(dataFolder, ["union-find"]);
  return { sessions: tally!.sessions, ...figuresOf(tally!) };
}
