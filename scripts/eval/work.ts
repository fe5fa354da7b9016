import type { Evaluation } from "../eval.ts";
import { actionFigures } from "./work-actions.ts";
import { pastWorkFigures } from "./work-fix.ts";
import { lostFigures } from "./work-lost.ts";

/**
 * Measures what is told about the work itself. Figures begin with the name of their section: `actions` (@see actionFigures), `lost`
 * (@see lostFigures), `fix` and `point` (@see pastWorkFigures).
 *
 * @param dataFolder  The folder with `entire/` and `transcripts/`.
 */
export async function evaluateWork(dataFolder: string): Promise<Evaluation> {
  const { fix, point } = await pastWorkFigures(dataFolder);
  const sections = { actions: await actionFigures(dataFolder), lost: await lostFigures(dataFolder), fix, point };
  const figures: Record<string, number> = {};
  for (const [name, section] of Object.entries(sections)) {
    for (const [key, figure] of Object.entries(section)) figures[`${name}.${key}`] = Number(figure.toFixed(1));
  }
  return { name: "work", figures };
}
