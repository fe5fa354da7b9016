import { mean } from "../measures.ts";
import { compare } from "./compare.ts";

/** What one arm's context contains at one place, in [0, 1]; undefined where there is nothing to find. */
export interface Outcome<M extends string> {
  conversation: string;
  /** The cut or the question. */
  place: number;
  budget: number;
  arm: string;
  tokens: number;
  shares: Record<M, number | undefined>;
}

/** The arms that the shipped context is compared with. */
export const RIVALS = ["newest", "flat-filled", "runs", "published"];

/**
 * Returns the figures of one measure:
 *
 * - `MEASURE@B.ARM`: the mean, in percent.
 * - `MEASURE@B.over.ARM`, `.low`, `.high`: by how many points the arm `own` is better, and the 95 % interval.
 * - `MEASURE@B.p.ARM`: the exact sign test (for shares of 0 and 1, McNemar's exact test).
 */
export function measureFigures<M extends string>(
  outcomes: readonly Outcome<M>[],
  measure: M,
  { own = "shipped", rivals = RIVALS }: { own?: string; rivals?: readonly string[] } = {},
): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const budget of new Set(outcomes.map(({ budget }) => budget))) {
    const byArm = new Map<string, Map<string, number>>();
    for (const { conversation, place, arm, shares, budget: at } of outcomes) {
      const share = shares[measure];
      if (at !== budget || share === undefined) continue;
      const places = byArm.get(arm) ?? new Map<string, number>();
      byArm.set(arm, places.set(`${place} ${conversation}`, share));
    }
    for (const [arm, places] of byArm) figures[`${measure}@${budget}.${arm}`] = percent(mean([...places.values()]));
    for (const rival of rivals) {
      const [left, right] = [byArm.get(own), byArm.get(rival)];
      if (left === undefined || right === undefined) continue;
      const pairs = [...left].map(([place, share]) => {
        return { conversation: place.slice(place.indexOf(" ")), left: share, right: right.get(place)! };
      });
      const { difference, low, high, p } = compare(pairs);
      figures[`${measure}@${budget}.over.${rival}`] = percent(difference);
      figures[`${measure}@${budget}.over.${rival}.low`] = percent(low);
      figures[`${measure}@${budget}.over.${rival}.high`] = percent(high);
      figures[`${measure}@${budget}.p.${rival}`] = Number(p.toPrecision(2));
    }
  }
  return figures;
}

/** Returns `NAME@B.ARM`: the mean tokens of the contexts. */
export function tokenFigures(outcomes: readonly Outcome<string>[], name: string): Record<string, number> {
  const totals = new Map<string, { sum: number; count: number }>();
  for (const { budget, arm, tokens } of outcomes) {
    const key = `${name}@${budget}.${arm}`;
    const { sum, count } = totals.get(key) ?? { sum: 0, count: 0 };
    totals.set(key, { sum: sum + tokens, count: count + 1 });
  }
  return Object.fromEntries([...totals].map(([key, { sum, count }]) => [key, Math.round(sum / count)]));
}

/** Returns the means of one measure by arm and conversation at one budget, in percent. */
export function tableOf<M extends string>(
  outcomes: readonly Outcome<M>[],
  measure: M,
  budget: number,
): Record<string, Record<string, number>> {
  const values: Record<string, Record<string, number[]>> = {};
  for (const { conversation, arm, shares, budget: at } of outcomes) {
    const share = shares[measure];
    if (at !== budget || share === undefined) continue;
    values[conversation] ??= {};
    values[conversation][arm] ??= [];
    values[conversation][arm].push(share);
  }
  return mapped(values, (arms) => mapped(arms, (shares) => percent(mean(shares))));
}

function mapped<From, To>(record: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

export function percent(share: number): number {
  return Number((100 * share).toFixed(1));
}
