import type { TokenCounter } from "../core/tokens.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { foldCopies, foldSessions } from "./copies.ts";
import { type Correction, HitReader, type RecallHit } from "./hits.ts";
import { newestFirst } from "./newest-first.ts";
import type { Query } from "./query.ts";
import type { Placed } from "./ranking.ts";
import { byRerank } from "./rerank.ts";
import type { Ranking } from "./search.ts";
import type { RankedSession } from "./sessions.ts";
import type { Source } from "./source.ts";
import { alternating } from "./superseded.ts";

interface HitOptions {
  limit: number;
  neighbors: number;
  tokensMax?: number | undefined;
  by: "message" | "session";
  explain: boolean;
  tokenCounter: TokenCounter;
  /** The scores that a reranker has given to messages, by message id. */
  scores?: ReadonlyMap<number, number> | undefined;
  /** Superseded messages to find, best first. */
  superseded?: Iterable<Placed> | undefined;
}

/** Returns the first hits of a ranking. */
export function hitsOf(
  source: Source,
  query: Query,
  { ranking: found, sessions, weights, phrasesMissing, corrections, unknownWords, confidence }: Ranking,
  { limit, neighbors, tokensMax, by, explain, tokenCounter, scores, superseded }: HitOptions,
): RecallHit[] {
  const placed = scores === undefined ? found : byRerank(found, scores);
  const onPath = by === "session" ? bestOfSessions(placed, scores === undefined ? sessions() : undefined) : placed;
  const both = superseded ? alternating(onPath, superseded) : onPath;
  const ranking = superseded && by === "session" ? bestOfSessions(both, undefined) : both;
  // Words that only superseded messages have are in no index, and have no weight.
  const marked = superseded ? new Map([...query.words.map(({ stem }) => [stem, 1] as const), ...weights]) : weights;
  const reader = new HitReader(source, marked, neighbors);
  let tokensLeft = tokensMax ?? Number.POSITIVE_INFINITY;
  const isAffordable = ({ candidate }: Placed): boolean => {
    if (tokensMax === undefined) return true;
    const cost = reader.tokensOf(candidate, tokenCounter, tokensLeft);
    if (cost > tokensLeft) return false;
    tokensLeft -= cost;
    return true;
  };
  const replaced = new Map<number, number>();
  const snippetOf = (id: number): string => reader.snippetOf(id).text;
  const loaded = newestFirst(reader.loaded(ranking, limit), query.text, marked, snippetOf, replaced);
  const folded =
    by === "session"
      ? foldSessions(loaded, limit, source, isAffordable)
      : foldCopies(loaded, limit, (id) => reader.textOf(id), source, isAffordable);
  reader.loadNeighbors(folded.map(({ ranked }) => ranked.candidate.messageId));
  const hits = folded.map((hit) => {
    const supersededBy = replaced.get(hit.ranked.candidate.messageId);
    return { ...reader.hitOf(hit, explain), ...(supersededBy !== undefined && { supersededBy }) };
  });
  const meant = correctionsIn(hits, corrections);
  const facts = {
    ...(confidence !== undefined && { confidence: Number(confidence.toFixed(2)) }),
    ...(unknownWords.length > 0 && { unknownWords }),
    ...(phrasesMissing && { phrasesMissing }),
    ...(meant.length > 0 && { corrections: meant }),
  };
  return hits.map((hit) => ({ ...hit, ...facts }));
}

/** Returns the corrections. Each names the word with the corrected stem as a hit has it. */
function correctionsIn(hits: readonly RecallHit[], corrections: Ranking["corrections"]): Correction[] {
  return corrections.flatMap(({ typed, stem }) => {
    for (const { text } of hits) {
      const meant = searchWords(text).find((word) => searchStem(word) === stem);
      if (meant !== undefined) return [{ typed, meant }];
    }
    return [];
  });
}

/**
 * Returns the best message of each session, with the score of the session, best session first. Without a ranking of sessions,
 * they are in the order of their best messages.
 */
function bestOfSessions(ranking: Iterable<Placed>, sessions: readonly RankedSession[] | undefined): Placed[] {
  const best = new Map<string, Placed>();
  for (const placed of ranking) {
    const { sessionId } = placed.candidate;
    if (!best.has(sessionId)) best.set(sessionId, placed);
  }
  if (sessions === undefined) return [...best.values()];
  return sessions.map(({ sessionId, score }) => ({ ...best.get(sessionId)!, score }));
}
