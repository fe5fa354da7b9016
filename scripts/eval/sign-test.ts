/**
 * Returns the probability that chance makes two counts at least as unequal: the exact two-sided sign test (Dixon and Mood, "The
 * statistical sign test", Journal of the American Statistical Association 41, 1946). Ties are left out by the caller.
 *
 * @param more, less  Pairs in which the first was better, and worse.
 * @returns a probability in (0, 1]; 1 without pairs.
 */
export function signTest(more: number, less: number): number {
  const pairs = more + less;
  let tail = 0;
  let logChoices = 0; // of `pairs` over `count`
  for (let count = 0; count <= Math.min(more, less); count++) {
    if (count > 0) logChoices += Math.log((pairs - count + 1) / count);
    tail += Math.exp(logChoices - pairs * Math.LN2);
  }
  return Math.min(1, 2 * tail);
}
