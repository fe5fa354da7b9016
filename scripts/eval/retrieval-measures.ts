/** The measures of a ranking for one question. */
export interface Outcome {
  category: string;
  /** Each in [0, 1]. */
  "any@1": number;
  "any@5": number;
  "any@10": number;
  "all@10": number;
  "rec@10": number;
  /** 1 over the rank of the first answer; 0 if none was found. */
  mrr: number;
}

export type Measure = Exclude<keyof Outcome, "category">;
export const MEASURES: readonly Measure[] = ["any@1", "any@5", "any@10", "all@10", "rec@10", "mrr"];

/** Measures the ranking for one question. @param found  Ids, best first, each once. */
export function outcomeOf(found: readonly string[], gold: ReadonlySet<string>, category: string): Outcome {
  const countIn = (k: number) => found.slice(0, k).filter((id) => gold.has(id)).length;
  const first = found.findIndex((id) => gold.has(id));
  return {
    category,
    "any@1": Number(countIn(1) > 0),
    "any@5": Number(countIn(5) > 0),
    "any@10": Number(countIn(10) > 0),
    "all@10": Number(countIn(10) === gold.size),
    "rec@10": countIn(10) / gold.size,
    mrr: first < 0 ? 0 : 1 / (first + 1),
  };
}

/** Returns the mean of a measure, in percent; 0 for no outcomes. */
export function percent(outcomes: readonly Outcome[], measure: Measure): number {
  if (outcomes.length === 0) return 0;
  return (100 * outcomes.reduce((sum, outcome) => sum + outcome[measure], 0)) / outcomes.length;
}

const RESAMPLES = 1_000;

/**
 * Returns the 95 % interval of the mean over other questions of the same kind, in percent: the
 * percentile bootstrap (Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7(1), 1979). It has
 * its own random generator, so that a run can be repeated.
 */
export function interval(outcomes: readonly Outcome[], measure: Measure): [low: number, high: number] {
  const values = outcomes.map((outcome) => outcome[measure]);
  let state = 0x9e3779b9;
  const below = (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let index = 0; index < values.length; index++) sum += values[below(values.length)]!;
    return (100 * sum) / values.length;
  }).sort((left, right) => left - right);
  return [means[Math.floor(0.025 * RESAMPLES)]!, means[Math.floor(0.975 * RESAMPLES)]!];
}
