import { isLabelWord, weightOf } from "./label.ts";
import { forEachWord } from "./words.ts";

/** The words that both texts have must make up this share of the lighter text's weight. */
const SHARE_MIN = 0.6;
/** Two words of a text do not say what it is about. */
const WORDS_MIN = 3;

/** Returns true if two sentences share most of their words, so that they are probably about the same thing. */
export function isSameMatter(left: string, right: string): boolean {
  const [a, b] = [weightsIn(left), weightsIn(right)];
  if (Math.min(a.size, b.size) < WORDS_MIN) return false;
  let shared = 0;
  for (const [word, weight] of a) if (b.has(word)) shared += weight;
  return shared >= SHARE_MIN * Math.min(sumOf(a), sumOf(b));
}

/** Returns the words of a text that tell what it is about, each with its weight. */
export function weightsIn(text: string): Map<string, number> {
  const weights = new Map<string, number>();
  forEachWord(text, (word, kind) => {
    if (!weights.has(word) && isLabelWord(word)) weights.set(word, weightOf(word, kind));
  });
  return weights;
}

function sumOf(weights: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const weight of weights.values()) sum += weight;
  return sum;
}
