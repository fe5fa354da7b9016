import type { Evaluation } from "../eval.ts";
import { lostFigures } from "./work-lost.ts";

/** The figures of each section, whose names begin with the section's. */
const SECTIONS: Record<string, (dataFolder: string) => Promise<Record<string, number>>> = {
  lost: lostFigures,
};

/**
 * Measures what is told about the work itself: files, commands and errors. Each section says what its figures mean.
 *
 * @param dataFolder  The folder with `entire/` and `transcripts/`.
 */
export async function evaluateWork(dataFolder: string): Promise<Evaluation> {
  const figures: Record<string, number> = {};
  for (const [name, measure] of Object.entries(SECTIONS)) {
    for (const [key, figure] of Object.entries(await measure(dataFolder))) figures[`${name}.${key}`] = figure;
  }
  return { name: "work", figures };
}
