import { searchWords } from "../models/search-words.ts";
import type { Evidence, Ranked } from "./ranking.ts";

/** Share of all distinct words of two texts that both have, from which one is a near copy of the other. */
const COPY_SHARE_MIN = 0.9;

/** Distinct words below which two texts are as likely to be two people saying "yes, do it" as one text kept twice. */
const COPY_WORDS_MIN = 5;

/** By which a share of whole numbers may be off. */
const ROUNDING = 1e-6;

/** Characters of each text that are compared. */
const COMPARED_CHARS = 4_000;

/** A hit that stands for its near copies. */
export interface Folded {
  ranked: Ranked;
  copies: Ranked[];
}

/**
 * Take hits in order, each with the near copies of it that come after: a session that was continued in another file, a
 * prompt that was pasted again, a file that was read twice. Ends when there are `limit`.
 *
 * @param textOf  The text of a message.
 * @param isWanted  Asked once of each that is no copy; one that is not wanted makes way for the next.
 */
export function foldCopies(
  ranking: Iterable<Ranked>,
  limit: number,
  textOf: (messageId: number) => string,
  isWanted: (ranked: Ranked) => boolean = () => true,
): Folded[] {
  const folded: (Folded & { words: ReadonlySet<string> })[] = [];
  for (const ranked of ranking) {
    const words = new Set(searchWords(textOf(ranked.evidence.messageId).slice(0, COMPARED_CHARS)));
    const isCopyOf = ({ ranked: { evidence }, words: others }: (typeof folded)[number]): boolean =>
      evidence.speaker === ranked.evidence.speaker &&
      sharedBy(words, others) >= (hasSameWords(evidence, ranked.evidence) ? COPY_SHARE_MIN : 1);
    const original = folded.find(isCopyOf);
    if (original !== undefined) original.copies.push(ranked);
    else if (folded.length === limit) break;
    else if (isWanted(ranked)) folded.push({ ranked, copies: [], words });
  }
  return folded.map(({ ranked, copies }) => ({ ranked, copies }));
}

/** Whether both have the same words of the query: where they do not, what little differs is what was asked for. */
function hasSameWords({ wordScores }: Evidence, { wordScores: others }: Evidence): boolean {
  return wordScores.every((score, word) => score > 0 === others[word]! > 0);
}

/**
 * Share of all distinct words that both have; 0 for texts that are too short to be copies, or in which too many words differ.
 */
function sharedBy(words: ReadonlySet<string>, others: ReadonlySet<string>): number {
  const [fewer, more] = words.size < others.size ? [words, others] : [others, words];
  if (fewer.size < COPY_WORDS_MIN || fewer.size < COPY_SHARE_MIN * more.size) return 0;
  // So many words of the smaller may be missing in the larger: most pairs are told apart by the first few.
  let missing = fewer.size - (COPY_SHARE_MIN * (fewer.size + more.size)) / (1 + COPY_SHARE_MIN);
  let shared = 0;
  for (const word of fewer) {
    if (more.has(word)) shared += 1;
    else if (--missing < -ROUNDING) return 0;
  }
  return shared / (fewer.size + more.size - shared);
}
