/** The candidates of a question: the features of each, and whether it is evidence. */
export interface Example {
  rows: readonly Float64Array[];
  isGold: readonly boolean[];
}

/**
 * Fits the weights of a linear ranker by Newton's method. They make it likely that a softmax over the scores of a question's
 * candidates draws its evidence (Cao et al., "Learning to rank: from pairwise to listwise approach", ICML 2007).
 *
 * @param wanted  `all` if a question needs all of its evidence, `any` if each piece of it is an answer.
 * @param penalty  The penalty on large weights: a factor of half the sum of the squared weights of standardized features.
 */
export function fitWeights(examples: readonly Example[], penalty: number, wanted: "all" | "any" = "all"): Float64Array {
  const width = examples[0]!.rows[0]!.length;
  const scales = deviations(examples, width);
  const scaledExamples = examples.map(({ rows, isGold }) => ({
    rows: rows.map((row) => row.map((value, at) => value / scales[at]!)),
    isGold,
  }));
  let weights: Float64Array = new Float64Array(width);
  let loss = lossOf(scaledExamples, weights, penalty, wanted);
  for (let round = 0; round < 30; round++) {
    const gradient = weights.map((weight) => -penalty * weight);
    const hessian = Array.from({ length: width }, (_, at) => {
      const line = new Float64Array(width);
      line[at] = penalty;
      return line;
    });
    for (const { rows: scaled, isGold } of scaledExamples) {
      const scores = scaled.map((row) => scoreOf(row, weights));
      const best = Math.max(...scores);
      const odds = scores.map((score) => Math.exp(score - best));
      const total = odds.reduce((sum, odd) => sum + odd, 0);
      const aims = isGold.map((gold, index) => (gold ? (wanted === "all" ? 1 : odds[index]!) : 0));
      const aimed = aims.reduce((sum, aim) => sum + aim, 0);
      const mean = new Float64Array(width);
      scaled.forEach((row, index) => {
        const probability = odds[index]! / total;
        for (let at = 0; at < width; at++) mean[at]! += probability * row[at]!;
      });
      scaled.forEach((row, index) => {
        const probability = odds[index]! / total;
        if (isGold[index])
          for (let at = 0; at < width; at++) gradient[at]! += (aims[index]! / aimed) * (row[at]! - mean[at]!);
        if (probability < 1e-6) return;
        for (let at = 0; at < width; at++) {
          const left = probability * (row[at]! - mean[at]!);
          const line = hessian[at]!;
          for (let other = 0; other <= at; other++) line[other]! += left * (row[other]! - mean[other]!);
        }
      });
    }
    for (let at = 0; at < width; at++)
      for (let other = at + 1; other < width; other++) hessian[at]![other] = hessian[other]![at]!;
    const step = solve(hessian, gradient);
    // A whole step may go too far.
    let share = 1;
    const moved = (): Float64Array => weights.map((weight, at) => weight + share * step[at]!);
    while (share > 1e-3 && lossOf(scaledExamples, moved(), penalty, wanted) > loss) share /= 2;
    weights = moved();
    const next = lossOf(scaledExamples, weights, penalty, wanted);
    const gain = loss - next;
    loss = next;
    if (gain < 1e-4) break;
  }
  return weights.map((weight, at) => weight / scales[at]!);
}

export function scoreOf(row: Float64Array, weights: Float64Array): number {
  let score = 0;
  for (let at = 0; at < row.length; at++) score += row[at]! * weights[at]!;
  return score;
}

function lossOf(examples: readonly Example[], weights: Float64Array, penalty: number, wanted: "all" | "any"): number {
  let loss = (penalty / 2) * weights.reduce((sum, weight) => sum + weight ** 2, 0);
  for (const { rows, isGold } of examples) {
    const scores = rows.map((row) => scoreOf(row, weights));
    const best = Math.max(...scores);
    const logOfSum = (some: readonly number[]): number =>
      best + Math.log(some.reduce((sum, score) => sum + Math.exp(score - best), 0));
    const gold = scores.filter((_, index) => isGold[index]);
    const drawn = wanted === "all" ? gold.reduce((sum, score) => sum + score, 0) / gold.length : logOfSum(gold);
    loss += logOfSum(scores) - drawn;
  }
  return loss;
}

function deviations(examples: readonly Example[], width: number): Float64Array {
  const sums = new Float64Array(width);
  const squares = new Float64Array(width);
  let count = 0;
  for (const { rows } of examples) {
    for (const row of rows) {
      count += 1;
      for (let at = 0; at < width; at++) {
        sums[at]! += row[at]!;
        squares[at]! += row[at]! ** 2;
      }
    }
  }
  return squares.map((square, at) => Math.sqrt(Math.max(0, square / count - (sums[at]! / count) ** 2)) || 1);
}

/** Solves a symmetric positive definite system by Cholesky's method. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const size = right.length;
  const lower = matrix.map((line) => line.slice());
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let sum = matrix[row]![column]!;
      for (let at = 0; at < column; at++) sum -= lower[row]![at]! * lower[column]![at]!;
      lower[row]![column] = row === column ? Math.sqrt(sum) : sum / lower[column]![column]!;
    }
  }
  const solution = right.slice();
  for (let row = 0; row < size; row++) {
    for (let at = 0; at < row; at++) solution[row]! -= lower[row]![at]! * solution[at]!;
    solution[row]! /= lower[row]![row]!;
  }
  for (let row = size - 1; row >= 0; row--) {
    for (let at = row + 1; at < size; at++) solution[row]! -= lower[at]![row]! * solution[at]!;
    solution[row]! /= lower[row]![row]!;
  }
  return solution;
}
