/**
 * A word without its most frequent English endings: plurals, `-ed`, `-ing`, a last `e`, a doubled last letter, so that
 * `retries`, `retrying` and `retry`, or `stopped` and `stops`, meet. After the S-stemmer of Harman, "How effective is
 * suffixing?", JASIS 42(1), 1991. What comes back is a key for comparing, not a word to show. Cheap enough for every
 * append, and within a point of Porter's stemmer where that was measured.
 */
export function stem(word: string): string {
  let stemmed = word;
  if (stemmed.length < 4) return stemmed;
  if (stemmed.endsWith("ies")) stemmed = `${stemmed.slice(0, -3)}y`;
  else if (stemmed.endsWith("s") && !stemmed.endsWith("ss") && !stemmed.endsWith("us")) stemmed = stemmed.slice(0, -1);
  if (stemmed.length > 5 && stemmed.endsWith("ing")) stemmed = stemmed.slice(0, -3);
  else if (stemmed.length > 4 && stemmed.endsWith("ed")) stemmed = stemmed.slice(0, -2);
  if (stemmed.length > 3 && stemmed.endsWith("e")) stemmed = stemmed.slice(0, -1);
  if (stemmed.length > 3 && stemmed.at(-1) === stemmed.at(-2)) stemmed = stemmed.slice(0, -1);
  return stemmed;
}
