import { readConversations } from "./conversations.ts";
import { emptyTally, figuresOf, replay } from "./replay.ts";

/**
 * Returns the figures of legality.ts for the strategies with one summary. The strategy's name is the suffix of each figure:
 * `prefixKept.flat`, `tokensResent.sandwich`. Sessions, cuts, budgets and the moments of summaries are those of legality.ts.
 *
 * @param dataFolder  The folder with `entire/` and `transcripts/`.
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
