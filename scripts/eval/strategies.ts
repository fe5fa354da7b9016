import { figuresOf } from "./replay.ts";
import { replayAll } from "./replay-task.ts";

/**
 * Returns the figures of legality.ts for the strategies with one summary. The strategy's name is the suffix of each figure:
 * `prefixKept.flat`, `tokensResent.sandwich`. Sessions, cuts, budgets and the moments of summaries are those of legality.ts.
 *
 * @param dataFolder  The folder with `entire/` and `transcripts/`.
 */
export async function strategyFigures(dataFolder: string): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  for (const tally of await replayAll(dataFolder, ["flat", "sandwich"])) {
    for (const [name, value] of Object.entries(figuresOf(tally))) figures[`${name}.${tally.strategy}`] = value;
  }
  return figures;
}
