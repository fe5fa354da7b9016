import { StoreError } from "../core/errors.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { Placed } from "./ranking.ts";

/** A reranker reads this many messages of a ranking, from the first on. */
export const RERANKED_MAX = 50;

/** Port, such as a cross-encoder: returns a score for each text, in order. A better answer to the query gets a higher score. */
export type Rerank = (query: string, texts: readonly string[], signal: AbortSignal) => Promise<readonly number[]>;

/**
 * Asks a reranker for the scores of messages.
 *
 * @param texts  The texts of the messages, by id.
 * @returns the scores by id.
 * @throws the signal's reason if it is aborted; the reranker's error; {StoreError} `MODEL_ANSWER_INVALID`.
 */
export async function rerankScores(
  rerank: Rerank,
  query: string,
  texts: ReadonlyMap<number, string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  if (texts.size === 0) return new Map();
  const scores: unknown = await untilAborted((async () => rerank(query, [...texts.values()], signal))(), signal);
  const isUsable = Array.isArray(scores) && scores.length === texts.size && scores.every(Number.isFinite);
  if (!isUsable) {
    const reason = `it is not a list of ${texts.size} numbers, one for each text`;
    throw new StoreError("MODEL_ANSWER_INVALID", { model: "The reranker", reason });
  }
  return new Map([...texts.keys()].map((id, index) => [id, (scores as number[])[index]!]));
}

/** Yields the messages with scores first, best first. The others keep their order. */
export function* byRerank(ranking: Iterable<Placed>, scores: ReadonlyMap<number, number>): Generator<Placed> {
  const all = [...ranking];
  const scoreOf = ({ candidate }: Placed): number | undefined => scores.get(candidate.messageId);
  const read = all.filter((placed) => scoreOf(placed) !== undefined);
  yield* read.sort((left, right) => scoreOf(right)! - scoreOf(left)!);
  for (const placed of all) if (scoreOf(placed) === undefined) yield placed;
}
