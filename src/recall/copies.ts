import { searchWords } from "../models/search-words.ts";
import type { Candidate, Placed } from "./ranking.ts";
import type { Source } from "./source.ts";

/** Near copies have at least this share of their distinct words in common. */
const COPY_SHARE_MIN = 0.9;

/** Shorter texts, such as "yes, do it", are often equal by chance. They are copies only if an agent wrote them twice. */
const COPY_WORDS_MIN = 5;

const COMPARED_CHARS = 4_000;

/** These are no words of the index, but "step 3" is no copy of "step 4". */
const SINGLE_DIGITS = /(?<![\p{L}\p{N}.,:])\p{N}(?![\p{L}\p{N}]|[.,:]\p{N})/gu;

export interface Folded {
  ranked: Placed;
  copies: Placed[];
}

/**
 * Returns the first `limit` hits, each with the near copies that rank below it, such as a prompt that was pasted again, or a message
 * that is also in a resumed session.
 *
 * @param isWanted  Called once for each hit that is not a copy. Unwanted hits are left out.
 */
export function foldCopies(
  ranking: Iterable<Placed>,
  limit: number,
  textOf: (messageId: number) => string,
  source: Pick<Source, "areCopies">,
  isWanted: (ranked: Placed) => boolean = () => true,
): Folded[] {
  const folded: (Folded & { words: ReadonlySet<string> })[] = [];
  for (const ranked of ranking) {
    const text = textOf(ranked.candidate.messageId).slice(0, COMPARED_CHARS);
    const words = new Set([...searchWords(text), ...(text.match(SINGLE_DIGITS) ?? [])]);
    const { messageId, speaker } = ranked.candidate;
    const isCopyOf = ({ ranked: { candidate }, words: others }: (typeof folded)[number]): boolean =>
      candidate.speaker === speaker &&
      (sharedBy(words, others) >= (hasSameWords(candidate, ranked.candidate) ? COPY_SHARE_MIN : 1) ||
        (textOf(candidate.messageId) === textOf(messageId) && source.areCopies(candidate.messageId, messageId)));
    const original = folded.find(isCopyOf);
    if (original !== undefined) original.copies.push(ranked);
    else if (folded.length === limit) break;
    else if (isWanted(ranked)) folded.push({ ranked, copies: [], words });
  }
  return folded.map(({ ranked, copies }) => ({ ranked, copies }));
}

/**
 * Returns the first `limit` hits, each of another session. A session whose hit is in a session before it, too, is a copy of that
 * conversation, or goes on from it: its hit is a copy.
 */
export function foldSessions(
  ranking: Iterable<Placed>,
  limit: number,
  source: Pick<Source, "areCopies" | "counterparts">,
  isWanted: (ranked: Placed) => boolean,
): Folded[] {
  const folded: Folded[] = [];
  for (const ranked of ranking) {
    const { messageId } = ranked.candidate;
    const original = folded.find(({ ranked: { candidate } }) =>
      source.counterparts(messageId, candidate.sessionId).some((id) => source.areCopies(messageId, id)),
    );
    if (original !== undefined) original.copies.push(ranked);
    else if (folded.length === limit) break;
    else if (isWanted(ranked)) folded.push({ ranked, copies: [] });
  }
  return folded;
}

/** Returns true if both have the same words of the query. Otherwise their difference may be the answer. */
function hasSameWords({ wordScores }: Candidate, { wordScores: others }: Candidate): boolean {
  return wordScores.every((score, word) => score > 0 === others[word]! > 0);
}

/** Returns the share of their distinct words that two texts have in common; 0 if the texts cannot be copies. */
function sharedBy(words: ReadonlySet<string>, others: ReadonlySet<string>): number {
  const [fewer, more] = words.size < others.size ? [words, others] : [others, words];
  if (fewer.size < COPY_WORDS_MIN || fewer.size < COPY_SHARE_MIN * more.size) return 0;
  // The most words of the smaller text that the larger text may lack. Most pairs exceed it within a few words.
  let missing = fewer.size - (COPY_SHARE_MIN * (fewer.size + more.size)) / (1 + COPY_SHARE_MIN);
  let shared = 0;
  for (const word of fewer) {
    if (more.has(word)) shared += 1;
    else if (--missing < -1e-6) return 0;
  }
  return shared / (fewer.size + more.size - shared);
}
