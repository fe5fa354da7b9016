import { searchWords } from "../models/search-words.ts";
import type { Candidate, Placed } from "./ranking.ts";
import type { Source } from "./source.ts";

/** Near copies have at least this share of their distinct words in common. */
const COPY_SHARE_MIN = 0.9;

/** Shorter texts, such as "yes, do it", are often equal by chance. They are copies only if an agent wrote them twice. */
const COPY_WORDS_MIN = 5;

const COMPARED_CHARS = 4_000;

/** A text that is longer by this factor says more than the other one. */
const LENGTH_FACTOR_MAX = 2;

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
  const folded: (Folded & { said: Said })[] = [];
  for (const ranked of ranking) {
    const { messageId, speaker } = ranked.candidate;
    const said = new Said(textOf(messageId));
    const isCopyOf = ({ ranked: { candidate }, said: other }: (typeof folded)[number]): boolean =>
      candidate.speaker === speaker &&
      (said.isNear(other, hasSameWords(candidate, ranked.candidate) ? COPY_SHARE_MIN : 1) ||
        (said.text === other.text && source.areCopies(candidate.messageId, messageId)));
    const original = folded.find(isCopyOf);
    if (original !== undefined) original.copies.push(ranked);
    else if (folded.length === limit) break;
    else if (isWanted(ranked)) folded.push({ ranked, copies: [], said });
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

/** A text and its distinct words, which are only read if they are compared. */
class Said {
  readonly text: string;
  #words: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get #length(): number {
    return Math.min(this.text.length, COMPARED_CHARS);
  }

  get words(): ReadonlySet<string> {
    if (this.#words === undefined) {
      const compared = this.text.slice(0, COMPARED_CHARS);
      this.#words = new Set([...searchWords(compared), ...(compared.match(SINGLE_DIGITS) ?? [])]);
    }
    return this.#words;
  }

  /** Returns true if at least `shareMin` of the distinct words of both are in both. */
  isNear(other: Said, shareMin: number): boolean {
    if (this.text === other.text) return this.words.size >= COPY_WORDS_MIN;
    const [short, long] = [this.#length, other.#length].sort((left, right) => left - right);
    if (long! > LENGTH_FACTOR_MAX * short!) return false;
    const [fewer, more] = this.words.size < other.words.size ? [this, other] : [other, this];
    return sharedBy(fewer.words, more.words) >= shareMin;
  }
}

/** Returns the share of their distinct words that two texts have in common; 0 if the texts cannot be copies. */
function sharedBy(fewer: ReadonlySet<string>, more: ReadonlySet<string>): number {
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
