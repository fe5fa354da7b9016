import { crash } from "../crash/run.ts";

/**
 * Measures the losses after `kill -9`: see `crash`.
 *
 * @returns `lostAfterKill`: acknowledged messages lost or altered, and kills after which the file had a fault.
 */
export async function killLosses(kills = 200): Promise<Record<string, number>> {
  const figures = await crash({ kills, seed: 1, onFault: (fault, folder) => console.error(`${folder}: ${fault}`) });
  return {
    lostAfterKill: figures.lost + figures.altered + figures.verifyFailures,
    kills: figures.kills,
    killsInWrite: figures.killsInWrite,
    killAcknowledged: figures.acknowledged,
  };
}
