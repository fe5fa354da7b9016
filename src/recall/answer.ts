import { RECALL_CONFIDENCE_MIN, RECALL_DOUBTED_MAX, RECALL_FILLED_MAX, RECALL_LIMIT_DEFAULT } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { Verdict } from "../core/verdicts.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { type Folded, foldCopies, foldSessions } from "./copies.ts";
import { type Correction, HitReader, type RecallHit } from "./hits.ts";
import { newestFirst } from "./newest-first.ts";
import type { Query } from "./query.ts";
import type { Placed } from "./ranking.ts";
import { byRerank } from "./rerank.ts";
import type { Ranking } from "./search.ts";
import type { Source } from "./source.ts";
import { alternating } from "./superseded.ts";

/** Under a token limit, hits after the first `RECALL_LIMIT_DEFAULT` whose odds are lower, relative to the best hit's, are left out. */
const WORTH_MIN = 0.01;

interface HitOptions {
  limit?: number | undefined;
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
  { ranking: found, weights, phrasesMissing, corrections, unknownWords, confidence }: Ranking,
  { limit: limitGiven, neighbors, tokensMax, by, explain, tokenCounter, scores, superseded }: HitOptions,
): RecallHit[] {
  // A reranker judges by more than words, and superseded messages are not judged at all.
  const isDoubted = confidence !== undefined && confidence < RECALL_CONFIDENCE_MIN && !scores && !superseded;
  const judged = isDoubted && limitGiven === undefined ? withoutTools([...found]) : found;
  const placed = scores === undefined ? judged : byRerank(judged, scores);
  const onPath = by === "session" ? bestOfSessions(placed) : placed;
  const both = superseded ? alternating(onPath, superseded) : onPath;
  const ranking = superseded && by === "session" ? bestOfSessions(both) : both;
  // Words that only superseded messages have are in no index, and have no weight.
  const marked = superseded ? new Map([...query.words.map(({ stem }) => [stem, 1] as const), ...weights]) : weights;
  const reader = new HitReader(source, marked, neighbors);
  const isFilling = tokensMax !== undefined && by === "message" && limitGiven === undefined;
  const limit = limitGiven ?? (isDoubted ? RECALL_DOUBTED_MAX : isFilling ? RECALL_FILLED_MAX : RECALL_LIMIT_DEFAULT);
  const room = tokensMax === undefined ? undefined : new TokenRoom(tokensMax, tokenCounter);
  let count = 0;
  // Hits that a reranker has ordered, and superseded ones, have no odds.
  const isUnlikely = ({ candidate, worth }: Placed): boolean =>
    worth < WORTH_MIN && !scores?.has(candidate.messageId) && !candidate.superseded;
  const isWanted = (placed: Placed): boolean => {
    if (room !== undefined && !room.take([reader.excerptOf(placed.candidate.messageId)])) return false;
    count += 1;
    return true;
  };
  const replaced = new Map<number, number>();
  const snippetOf = (id: number): string => reader.snippetOf(id).text;
  const ordered = newestFirst(reader.loaded(ranking, limit), query.text, marked, snippetOf, source, replaced);
  let matchCount = 0;
  const counted = function* () {
    for (const placed of ordered) {
      matchCount += 1;
      if (isFilling && count >= RECALL_LIMIT_DEFAULT && isUnlikely(placed)) return;
      yield placed;
    }
  };
  const folded =
    by === "session"
      ? foldSessions(counted(), limit, source, isWanted)
      : foldCopies(counted(), limit, (id) => reader.textOf(id), source, isWanted);
  reader.loadNeighbors(folded.map(({ ranked }) => ranked.candidate.messageId));
  const verdicts = verdictsOn(folded, source);
  const whole = folded.map((hit) => {
    const verdict = verdicts.get(hit);
    const supersededBy =
      verdict?.kind === "replaced" ? verdict.messageId : replaced.get(hit.ranked.candidate.messageId);
    return {
      ...reader.hitOf(hit, explain),
      ...(supersededBy !== undefined && { supersededBy }),
      ...(verdict !== undefined && { verdict }),
    };
  });
  const hits = room === undefined ? whole : cutDown(whole, room, (id) => reader.excerptOf(id));
  const meant = correctionsIn(hits, corrections);
  // The match after the last hit was read, too, if there is one.
  const areMore = matchCount > folded.reduce((sum, { copies }) => sum + 1 + copies.length, 0);
  const facts = {
    ...(confidence !== undefined && { confidence: Number(confidence.toFixed(2)) }),
    ...(unknownWords.length > 0 && { unknownWords }),
    ...(phrasesMissing && { phrasesMissing }),
    ...(meant.length > 0 && { corrections: meant }),
    ...(tokensMax !== undefined && limitGiven === undefined && areMore && { more: true as const }),
  };
  return hits.map((hit) => ({ ...hit, ...facts }));
}

/** Returns the verdicts on hits, also on what an agent wrote a second time into another session. */
function verdictsOn(folded: readonly Folded[], source: Source): Map<Folded, Verdict> {
  const idOf = ({ candidate }: Placed): number => candidate.messageId;
  const verdicts = source.verdictsOn(folded.flatMap(({ ranked, copies }) => [ranked, ...copies].map(idOf)));
  const found = new Map<Folded, Verdict>();
  if (verdicts.size === 0) return found;
  for (const hit of folded) {
    const id = idOf(hit.ranked);
    const said = hit.copies.map(idOf).filter((copy) => verdicts.has(copy) && source.areCopies(id, copy));
    const verdict = verdicts.get(id) ?? verdicts.get(said[0] ?? id);
    if (verdict !== undefined) found.set(hit, verdict);
  }
  return found;
}

/**
 * Leaves out calls and what tools printed, if somebody has said a word of the query. Code that has a word of a question about something
 * else only looks like an answer.
 */
function withoutTools(ranking: readonly Placed[]): readonly Placed[] {
  const said = ranking.filter(({ candidate }) => candidate.speaker !== "tool");
  return said.some(({ candidate }) => candidate.wordScores.some((score) => score > 0)) ? said : ranking;
}

/** Cuts hits for which there is room as excerpts. The rest of the room is for whole texts, best first, and then for neighbors. */
function cutDown(hits: readonly RecallHit[], room: TokenRoom, excerptOf: (messageId: number) => string): RecallHit[] {
  const cut = hits.map((hit) => {
    const excerpt = excerptOf(hit.messageId);
    return hit.text === excerpt || room.take([hit.text], [excerpt])
      ? hit
      : { ...hit, text: excerpt, cut: true as const };
  });
  return cut.map((hit) => {
    return room.take(hit.neighbors.map(({ snippet }) => snippet)) ? hit : { ...hit, neighbors: [] };
  });
}

class TokenRoom {
  readonly #tokenCounter: TokenCounter;
  #left: number;

  constructor(tokensMax: number, tokenCounter: TokenCounter) {
    this.#tokenCounter = tokenCounter;
    this.#left = tokensMax;
  }

  /** Takes the room for texts, if there is enough. @param instead  Texts that have room already, and make way. */
  take(texts: readonly string[], instead: readonly string[] = []): boolean {
    const tokensOf = (all: readonly string[]) => all.reduce((sum, text) => sum + this.#tokenCounter.count(text), 0);
    const cost = tokensOf(texts) - tokensOf(instead);
    if (cost > this.#left) return false;
    this.#left -= cost;
    return true;
  }
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

/** Returns the best message of each session, in order. */
function bestOfSessions(ranking: Iterable<Placed>): Placed[] {
  const best = new Map<string, Placed>();
  for (const placed of ranking) {
    const { sessionId } = placed.candidate;
    if (!best.has(sessionId)) best.set(sessionId, placed);
  }
  return [...best.values()];
}
