import { coverageFigures } from "./coverage.ts";
import { distillationFigures } from "./distillation.ts";
import { futureFigures } from "./future.ts";
import { legalityFigures } from "./legality.ts";
import { strategyFigures } from "./strategies.ts";

/**
 * What rendered contexts are worth: what they hold of the evidence that a question needs and of what the work comes back to,
 * whether providers accept them, what of them a prompt cache keeps, and what shortened tool results hold of what matters.
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
