import { once } from "../core/once.ts";
import { RECALL_CONFIDENCE_MIN } from "../core/options.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { STOP_WORDS } from "../models/stop-words.ts";
import { CORRECTED_WEIGHT } from "./full-text-search.ts";
import { askingWeight } from "./query.ts";
import type { Candidate } from "./ranking.ts";

/**
 * The bias and the weight of the share of a query, counted as if the query had one more rare word that no message has. They were fitted to
 * the questions of `scripts/eval/questions`, asked in their own project and in others, and to prompts such as "commit this".
 */
const BIAS = -6;
const SHARE_WEIGHT = 13.6;

/** A query is not called foreign if a message has this share of it, however common its words are. */
const EVEN_SHARE = 0.4;

const HIRAGANA = /\p{sc=Hiragana}/u;
const UNSPACED = /[\p{sc=Han}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u;

/** How much a word tells about the matter: two letters of a script without spaces, which are rarely a word; a word of orders; and a name. */
const PAIR_SHARE = 0.5;
const ORDER_SHARE = 0.1;
const NAME_SHARE = 3;

/** Words of most orders to an agent, whatever the project. */
const ORDER_WORDS = `
  add branch bug build call change check clean clear code comment commit conflict content continue create current debug delete diff document
  done error execute explain fail file find first fix function git good implement issue line local look main merge message new next open output
  plan pr problem project pull push read rebase refactor remove rename repo resolve review run server show staged start step stop task test
  undo update work write テスト 実行 修正 確認 追加 作成 実装 変更 削除 対応 コミット ビルド タスク
`;
const orderStems = once(() => new Set(searchWords(ORDER_WORDS).map(searchStem)));
const stopStems = once(() => new Set(STOP_WORDS.map(searchStem)));

/** What the words of a query tell about its matter. */
export interface Telling {
  /** How much each of the searched words tells. */
  words: readonly number[];
  /** The same for all words together, with those that no message has. */
  wanted: number;
  /** What a word tells that no message has. */
  most: number;
}

interface TellingWord {
  stem: string;
  pieceOf?: string;
}

/** Returns what words tell: the more, the rarer they are. Function words tell nothing, nor do the pieces of a name beside the name. */
export function tellingOf(
  found: readonly (TellingWord & { rareness: number; typed?: string })[],
  unknown: readonly TellingWord[],
  most: number,
): Telling {
  const names = new Set(found.map(({ pieceOf }) => pieceOf));
  const words = found.map((word) => (names.has(word.stem) ? NAME_SHARE : 1) * shareOf(word) * word.rareness);
  const wanted = words.map((telling, at) => telling / (found[at]!.typed === undefined ? 1 : CORRECTED_WEIGHT));
  const missing = unknown.map((word) => shareOf(word) * askingWeight(word.stem) * most);
  return { words, wanted: [...wanted, ...missing].reduce((sum, telling) => sum + telling, 0), most };
}

/** Two letters with hiragana are grammar. */
function shareOf({ stem, pieceOf }: TellingWord): number {
  if (pieceOf !== undefined || HIRAGANA.test(stem) || stopStems().has(stem)) return 0;
  return (orderStems().has(stem) ? ORDER_SHARE : 1) * (UNSPACED.test(stem) ? PAIR_SHARE : 1);
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
  { words, wanted, most }: Telling,
): number {
  const prompts = promptsOf(candidates);
  const places = new Map(candidates.map(({ messageId }, at) => [messageId, at]));
  let [held, judged] = [0, 0];
  for (const { candidate } of ranking) {
    if (judged++ === JUDGED) break;
    const prompt = prompts[places.get(candidate.messageId)!];
    const before = prompt === undefined ? candidate.wordScores : candidates[prompt]!.wordScores;
    const own = words.reduce((sum, telling, word) => {
      return candidate.wordScores[word]! > 0 || before[word]! > 0 ? sum + telling : sum;
    }, 0);
    held = Math.max(held, own);
  }
  const floor = held / wanted < EVEN_SHARE ? 0 : RECALL_CONFIDENCE_MIN;
  return Math.max(floor, 1 / (1 + Math.exp(-BIAS - (SHARE_WEIGHT * held) / (wanted + most))));
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
