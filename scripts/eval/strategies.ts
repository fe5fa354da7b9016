import { readConversations } from "./conversations.ts";
import { emptyTally, figuresOf, replay } from "./replay.ts";

/**
 * The figures of legality.ts for the strategies with one summary, each with the strategy's name behind it:
 * `prefixKept.flat`, `tokensResent.sandwich`. The same sessions, cuts and budgets, and the same moments at which summaries
 * are made.
 *
 * @param dataFolder  With `entire/` and `transcripts/`.
 */
export async function strategyFigures(dataFolder: string): Promise<Record<string, number>> {
  const conversations = await readConversations(dataFolder);
  const figures: Record<string, number> = {};
  for (const strategy of ["flat", "sandwich"] as const) {
    const tally = emptyTally(strategy);
    for (const conversation of conversations) await replay(conversation, tally);
    for (const [name, value] of Object.entries(figuresOf(tally))) figures[`${name}.${strategy}`] = value;
  }
  return figures;
}
