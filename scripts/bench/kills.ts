import { crash } from "../crash/run.ts";

/**
 * What `kill -9` costs: see `crash`.
 *
 * @returns `lostAfterKill`: acknowledged messages lost or altered, and kills after which the file was not sound.
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
