import type { Candidate } from "./ranking.ts";

/**
 * The weights of the logistic function: of the share of the query that a message has, and of the logarithm of how much that is, counted in
 * words that no other message has. Fitted to the questions of `scripts/eval/questions`, asked in their own project and in others, and to
 * prompts such as "commit this".
 */
const BIAS = -9.97;
const SHARE_WEIGHT = 3.01;
const AMOUNT_WEIGHT = 2.84;
/** The amount is one word that no other message has. */
const RARE_WORD = 8.5;

/** A query is not called foreign if a message has this share of it, however common its words are. */
const EVEN_SHARE = 0.48;

/** Hits with a smaller confidence are probably about something else. */
export const CONFIDENCE_MIN = 0.1;

/** If nothing is near, so many hits are enough to see it, unless the caller asks for more. */
export const DOUBTED_MAX = 3;

const HIRAGANA = /\p{sc=Hiragana}/u;
const UNSPACED = /[\p{sc=Han}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u;

/**
 * Returns how much a word of a query tells about the matter. Two letters of a script without spaces are rarely a word, and two with hiragana
 * are grammar. The pieces of a name tell nothing beside the name.
 */
export function tellingShare(stem: string, isPiece: boolean): number {
  return isPiece || HIRAGANA.test(stem) ? 0 : UNSPACED.test(stem) ? 0.5 : 1;
}

interface Telling {
  /** For each word of the query that messages have, how much it tells. */
  weights: readonly number[];
  /** The same for all words together, with those that no message has. */
  wanted: number;
  /** What a word tells that no other message has. */
  rare: number;
}

/** So many messages of a ranking are judged. */
const JUDGED = 3;

/**
 * Returns the probability that one of the first messages of a ranking answers, by how much of the query the best of them has, together with
 * what the user said before it.
 */
export function confidenceOf(
  ranking: Iterable<{ candidate: Candidate }>,
  candidates: readonly Candidate[],
  { weights, wanted, rare }: Telling,
): number {
  const prompts = promptsOf(candidates);
  const places = new Map(candidates.map(({ messageId }, at) => [messageId, at]));
  let [held, judged] = [0, 0];
  for (const { candidate } of ranking) {
    if (judged++ === JUDGED) break;
    const prompt = prompts[places.get(candidate.messageId)!];
    const before = prompt === undefined ? candidate.wordScores : candidates[prompt]!.wordScores;
    const own = weights.reduce((sum, weight, word) => {
      return candidate.wordScores[word]! > 0 || before[word]! > 0 ? sum + weight : sum;
    }, 0);
    held = Math.max(held, own);
  }
  const share = held / wanted;
  const logit = BIAS + SHARE_WEIGHT * share + AMOUNT_WEIGHT * Math.log1p((RARE_WORD * held) / rare);
  return Math.max(share < EVEN_SHARE ? 0 : CONFIDENCE_MIN, 1 / (1 + Math.exp(-logit)));
}

/** Returns for each message the index of the last message of the user before it in its session. */
export function promptsOf(candidates: readonly Candidate[]): (number | undefined)[] {
  const inOrder = candidates.map((_, at) => at).sort((left, right) => candidates[left]!.seq - candidates[right]!.seq);
  const last = new Map<string, number>();
  const prompts: (number | undefined)[] = candidates.map(() => undefined);
  for (const at of inOrder) {
    const { sessionId, speaker } = candidates[at]!;
    prompts[at] = last.get(sessionId);
    if (speaker === "user") last.set(sessionId, at);
  }
  return prompts;
}
