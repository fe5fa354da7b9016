import { MaxHeap } from "../digest/max-heap.ts";

export interface Statement {
  text: string;
  tokens: number;
}

/** The worth of a statement rises by this share with each place, so that the later of two equal ones is chosen. */
const LATER = 1e-9;

const WORD = /[\p{L}\p{N}_][\p{L}\p{N}_./-]+/gu;

/**
 * Returns the statements for which there is room, in order. If there is not room for all, those are chosen that add the most new
 * words per token. Of equal ones, the later one is chosen. Worths only fall, so most need not be computed again (Minoux, 1978).
 */
export function chooseStatements<S extends Statement>(statements: readonly S[], tokensMax: number): S[] {
  if (statements.reduce((sum, { tokens }) => sum + tokens, 0) <= tokensMax) return [...statements];
  const words = statements.map(({ text }) => new Set(text.toLowerCase().match(WORD)));
  const told = new Set<string>();
  const worthOf = (index: number): number => {
    let count = 0;
    for (const word of words[index]!) if (!told.has(word)) count += 1;
    return (count / statements[index]!.tokens) * (1 + index * LATER);
  };
  const heap = new MaxHeap(statements.length);
  for (const index of statements.keys()) heap.push(index, worthOf(index));
  const chosen = new Set<S>();
  let room = tokensMax;
  for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
    const statement = statements[top]!;
    const worth = worthOf(top);
    if (statement.tokens > room || worth === 0) continue;
    if (worth < heap.topKey) {
      heap.push(top, worth);
      continue;
    }
    chosen.add(statement);
    room -= statement.tokens;
    for (const word of words[top]!) told.add(word);
  }
  return statements.filter((statement) => chosen.has(statement));
}
