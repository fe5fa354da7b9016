import { searchStem } from "../models/search-words.ts";
import { isStopWord, STOP_WORDS } from "../models/stop-words.ts";

/** These stop words say nothing about the subject of a question, even when people talk. */
const BARE = new Set(
  `a an the of to in on at for and or is are was were be been has have had do does did what when where who which how why
  her his their its with from by as that this it he she they i you my your me we our him them will would could can might`
    .trim()
    .split(/\s+/),
);

/** The share of a frequency that does not depend on the length of the text, as in BM25. */
const LENGTH_FREE = 0.25;

/**
 * Counts the stop words of a question in texts. The index has no stop words. But when people talk, words like "go", "want" and
 * "together" say what was done.
 *
 * @returns for each of these words, its frequency in each text, relative to the text's length.
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
