import { searchStem } from "../models/search-words.ts";
import { isStopWord, STOP_WORDS } from "../models/stop-words.ts";

/** Stop words that tell nothing about the matter of a question, even where people talk. */
const BARE = new Set(
  `a an the of to in on at for and or is are was were be been has have had do does did what when where who which how why
  her his their its with from by as that this it he she they i you my your me we our him them will would could can might`
    .trim()
    .split(/\s+/),
);

/** The share of a frequency that does not depend on the length of the text, as in BM25. */
const LENGTH_FREE = 0.25;

/**
 * The index has no stop words. But when people talk, words like "go", "want" and "together" say what was done. So they are
 * counted in the texts.
 *
 * @returns the frequency in each text, relative to its length, for each of these words in a question.
 */
export function spokenWords(question: string, texts: readonly string[]): Float64Array[] {
  const stems = new Set<string>();
  for (const word of question.toLowerCase().match(/[a-z]+/g) ?? []) {
    if (isStopWord(word) && !BARE.has(word)) stems.add(searchStem(word));
  }
  const charsMean = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  return Array.from(stems, (stem) => {
    const forms = STOP_WORDS.filter((word) => searchStem(word) === stem);
    const pattern = new RegExp(`\\b(?:${forms.join("|")})\\b`, "gi");
    return Float64Array.from(texts, (text) => {
      const count = text.match(pattern)?.length ?? 0;
      return count === 0 ? 0 : count / (LENGTH_FREE + (1 - LENGTH_FREE) * (text.length / charsMean));
    });
  });
}
