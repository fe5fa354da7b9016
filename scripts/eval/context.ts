import { coverageFigures } from "./coverage.ts";
import { distillationFigures } from "./distillation.ts";
import { futureFigures } from "./future.ts";
import { legalityFigures } from "./legality.ts";
import { strategyFigures } from "./strategies.ts";

/**
 * Measures rendered contexts: how much they contain of the evidence for a question and of the files that later work needs,
 * if providers accept them, how much of them a prompt cache keeps, and how much shortened tool results keep.
 */
export async function evaluateContext(
  dataFolder: string,
): Promise<{ name: "context"; figures: Record<string, number> }> {
  return {
    name: "context",
    figures: {
      ...(await coverageFigures(dataFolder)),
      ...(await futureFigures(dataFolder)),
      ...(await legalityFigures(dataFolder)),
      ...(await strategyFigures(dataFolder)),
      ...(await distillationFigures(dataFolder)),
    },
  };
}
