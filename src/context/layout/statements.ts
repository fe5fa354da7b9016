import { tokenSum } from "../costs.ts";
import { MaxHeap } from "../digest/max-heap.ts";
import type { Statement } from "../view.ts";

export interface PricedStatement extends Statement {
  tokenCount: number;
}

/** The worth of a statement rises by this share with each place, so that the later of two equal ones is chosen. */
const LATER = 1e-9;

const WORD = /[\p{L}\p{N}_][\p{L}\p{N}_./-]+/gu;

/** An important statement is worth more than any other: no word takes less than a tenth of a token. */
const IMPORTANCE = 10;

/** A statement counts as so much longer, because short ones are trivial more often. */
const TOKENS_MORE = 8;

/** When the list has no more room, so much of it stays. The rest is filled as statements come. */
const KEPT_SHARE = 0.75;

/**
 * Returns the statements of a list for which there is room, by time. The list is made as it grew: statements are added as the frontier
 * accepts them, so that the list keeps its beginning and prompt caches hit. When there is no room for all, it is chosen again.
 */
export function listStatements<S extends PricedStatement>(
  statements: readonly S[],
  tokensMax: number,
  said: readonly string[],
): S[] {
  let list: S[] = [];
  const accepted = statements.toSorted(byAcceptance);
  for (const [index, statement] of accepted.entries()) {
    list.push(statement);
    if (accepted[index + 1]?.shownFrom === statement.shownFrom) continue; // one move accepts several
    if (tokenSum(list) > tokensMax) list = chooseStatements(list, KEPT_SHARE * tokensMax, said);
  }
  return list.sort((left, right) => left.seq - right.seq);
}

function byAcceptance(left: Statement, right: Statement): number {
  return left.shownFrom - right.shownFrom || left.seq - right.seq;
}

/**
 * Returns all statements, or those for which there is room, in order: the important ones first, then those that add the most new words per
 * token. Words of the texts `said` are not new. Of equal ones, the later one is chosen. Worths only fall, so most need not be computed again (Minoux, 1978).
 */
export function chooseStatements<S extends PricedStatement>(
  statements: readonly S[],
  tokensMax: number,
  said: readonly string[] = [],
): S[] {
  if (tokenSum(statements) <= tokensMax) return [...statements];
  const words = statements.map(({ text }) => new Set(text.toLowerCase().match(WORD)));
  const told = new Set<string>(said.flatMap((text) => text.toLowerCase().match(WORD) ?? []));
  const worthOf = (index: number): number => {
    let count = 0;
    for (const word of words[index]!) if (!told.has(word)) count += 1;
    const { tokenCount, isImportant } = statements[index]!;
    return (count / (tokenCount + TOKENS_MORE) + (isImportant ? IMPORTANCE : 0)) * (1 + index * LATER);
  };
  const heap = new MaxHeap(statements.length);
  for (const index of statements.keys()) heap.push(index, worthOf(index));
  const chosen = new Set<S>();
  let room = tokensMax;
  for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
    const statement = statements[top]!;
    const worth = worthOf(top);
    if (statement.tokenCount > room || worth === 0) continue;
    if (worth < heap.topKey) {
      heap.push(top, worth);
      continue;
    }
    chosen.add(statement);
    room -= statement.tokenCount;
    for (const word of words[top]!) told.add(word);
  }
  return statements.filter((statement) => chosen.has(statement));
}
