import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { namedDates, relativeTimes, type TimeRange } from "../core/named-times.ts";
import { isQuestion } from "../core/question.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import type { SearchScope } from "../store/index.ts";
import { dot } from "../vector/vector.ts";
import { raiseForQuestion } from "./advice.ts";
import { confidenceOf, type Telling, tellingOf } from "./confidence.ts";
import { closeness, datedness } from "./dates.ts";
import { searchFullText } from "./full-text-search.ts";
import { interleaved, peopleAmong } from "./kinds.ts";
import { byMeaning } from "./meaning.ts";
import { raiseNumbered } from "./numbered-names.ts";
import { rankPeople } from "./people.ts";
import type { TextHit } from "./postings.ts";
import { askingWeight, isQuotingQuestion, type Query } from "./query.ts";
import type { QueryVector } from "./query-vector.ts";
import { isQuotation } from "./quotation.ts";
import {
  byLexicalVectors,
  type Candidate,
  NEIGHBORHOOD_RADIUS,
  ODDS,
  type Placed,
  type Ranked,
  rankCandidates,
  VECTOR_WEIGHT,
} from "./ranking.ts";
import type { Source } from "./source.ts";
import type { VectorSource } from "./vector-source.ts";
import { isWork, raiseForWork, rankWork, WORK_ODDS, WORK_VECTOR_WEIGHT, wordsOfWork } from "./work.ts";

/** At most RANKED_MAX messages are ranked for their words. The neighbors of the first SURROUNDED_MAX are ranked too. */
const RANKED_MAX = 500;
const SURROUNDED_MAX = 150;

/** At most this many of the best messages are examined for being the question itself, with this many messages after each. */
const ASKING_MAX = 20;
const ASKING_RADIUS = 4;

/** A text, or a text and its vector from the store's embedder. */
export type RecallQuery = string | { text: string; embedding?: Float32Array | readonly number[] };

export interface SearchPorts {
  source: Source;
  /** Compares messages by what they mean; undefined with a lexical embedder, whose vectors repeat what words say. */
  messageVectors?: VectorSource | undefined;
  clock: Clock;
}

/** @throws {StoreError} `OPTION_INVALID` if it is not a query. */
export function textAndEmbedding(asked: RecallQuery): { text: string; embedding?: unknown } {
  const query = typeof asked === "string" ? { text: asked } : asked;
  if (typeof query?.text === "string") return query;
  const expected = "a text, or an object with a text and its embedding";
  throw new StoreError("OPTION_INVALID", { option: "the query", expected, actual: asked });
}

export interface Ranking {
  /** Best first, each time it is read. With a lexical embedder, only the embeddings of messages that are taken are read. */
  ranking: Iterable<Placed>;
  weights: ReadonlyMap<string, number>;
  /** True if no message has the phrases of the query, so that they were searched as words. */
  phrasesMissing?: true;
  /** Words that no message has, and the stems that were searched instead. */
  corrections: { typed: string; stem: string }[];
  /** Words that no message has, without those that were corrected. */
  unknownWords: string[];
  /** @see confidenceOf */
  confidence?: number;
}

/**
 * Ranks the messages that match by words, the neighbors of these, and the messages whose vectors are nearest to the query's.
 *
 * The phrases of a query are searched as words if the query is a question, or if no message has the phrases. People quote titles in
 * questions, and need not remember a title exactly. A query of phrases alone always means the phrases.
 *
 * @param vector  The query's vector. Without one, only words count.
 * @param by  What the caller ranks by these messages.
 * @param shownIds  For the query of a context: the messages that the context shows already. They are left out, and also the
 *   messages that repeat the query.
 */
export function search(
  ports: SearchPorts,
  query: Query,
  vector: QueryVector | undefined,
  scope: SearchScope,
  { limit, by = "message" }: { limit: number; by?: "message" | "session" },
  shownIds?: ReadonlySet<number>,
): Ranking {
  const { source, messageVectors } = ports;
  const nominees = nominate(ports, query, vector, scope, limit, shownIds);
  const { weights, terms, times, unknown, telling, phrasesMissing } = nominees;
  const candidates = by === "session" ? withTimesOfSessions(nominees.candidates, times) : nominees.candidates;
  const people = peopleAmong(candidates);
  const ofPeople = rankPeople(people, weights, query.text, source.textsOf(people.map(({ messageId }) => messageId)));
  const textsOf = (ids: readonly number[]): Map<number, string> => source.textsOf(ids);
  const isOfWork = isWork(candidates);
  const ranked = (): Ranked[] => {
    const byWords = isOfWork
      ? raiseForWork(rankWork(candidates, wordsOfWork(candidates, weights, terms)), query.text, source)
      : rankCandidates(candidates, weights);
    return raiseNumbered(byWords, query.text, terms.length, textsOf);
  };
  const all = people.length === candidates.length ? [] : raiseForQuestion(ranked(), query.text, textsOf);
  const rankings: Rankings = {
    all,
    ofPeople,
    people: new Set(people),
    vectorWeight: isOfWork ? WORK_VECTOR_WEIGHT : VECTOR_WEIGHT,
    odds: isOfWork ? WORK_ODDS : ODDS,
  };
  const ranking = { [Symbol.iterator]: () => withVectors(ports, rankings, vector, scope)[Symbol.iterator]() };
  return {
    ranking,
    weights: new Map(terms.map(({ stem }, index) => [stem, weights[index]!])),
    corrections: terms.flatMap(({ stem, typed }) => (typed === undefined ? [] : [{ typed, stem }])),
    unknownWords: unknown.map(({ word }) => word),
    // Words do not say what a semantic embedder has found, and hits have the phrases of a query.
    ...(messageVectors === undefined &&
      telling.wanted > 0 &&
      (query.phrases.length === 0 || phrasesMissing) && { confidence: confidenceOf(ranking, candidates, telling) }),
    ...(phrasesMissing && { phrasesMissing }),
  };
}

/** Returns the messages, each as near to the times as its session: a session has worked on what a time is asked for before and after. */
function withTimesOfSessions(candidates: readonly Candidate[], times: readonly TimeRange[]): Candidate[] {
  if (times.length === 0) return [...candidates];
  const ranges = new Map<string, TimeRange>();
  for (const { sessionId, createdAtMs } of candidates) {
    const { fromMs, toMs } = ranges.get(sessionId) ?? { fromMs: createdAtMs, toMs: createdAtMs };
    ranges.set(sessionId, { fromMs: Math.min(fromMs, createdAtMs), toMs: Math.max(toMs, createdAtMs) });
  }
  return candidates.map((candidate) => ({
    ...candidate,
    closeness: closeness(times, ranges.get(candidate.sessionId)!),
  }));
}

interface Nominees {
  candidates: Candidate[];
  /** The searched words, and the weight of each. */
  terms: readonly { stem: string; typed?: string; pieceOf?: string }[];
  weights: number[];
  /** The words that no message has. */
  unknown: readonly { word: string }[];
  /** How much the words tell: see `confidenceOf`. */
  telling: Telling;
  /** The times around which the caller or the query asks. */
  times: readonly TimeRange[];
  phrasesMissing?: true;
}

/** Returns the messages to rank, and the weights of the words. @see search */
export function nominate(
  ports: SearchPorts,
  query: Query,
  vector: QueryVector | undefined,
  scope: SearchScope,
  limit: number,
  shownIds?: ReadonlySet<number>,
): Nominees {
  const { source } = ports;
  const { terms, unknown, rarenessMax, hits } = searchFullText(source, query, scope, Math.max(limit, RANKED_MAX));
  const isMissing = hits.length === 0 && query.phrases.length > 0 && !isQuotation(query.text);
  if (isMissing || isQuotingQuestion(query)) {
    const nominees = nominate(ports, { ...query, phrases: [] }, vector, scope, limit, shownIds);
    return { ...nominees, ...(isMissing && { phrasesMissing: true }) };
  }
  const factors = terms.map(({ stem }) => askingWeight(stem));
  const found = new Map(hits.map(({ messageId, scores }) => [messageId, scores]));
  const repetitions = shownIds === undefined ? [] : repetitionsOf(source, query, hits);
  const excluded = new Set([...(shownIds ?? []), ...repetitions, ...askingOf(source, query, hits)]);
  for (const id of excluded) found.delete(id);
  // The neighbor of a hit may be the answer, even if it shares no word with the question.
  const first = [...found.keys()].slice(0, SURROUNDED_MAX);
  const beside =
    query.phrases.length > 0
      ? []
      : [...source.around(first, NEIGHBORHOOD_RADIUS), ...nearMessages(ports, vector, scope)];
  const others = [...new Set(beside)].filter((id) => !found.has(id) && !excluded.has(id));
  const ids = [...found.keys(), ...source.inScope(others, scope)];
  // Messages are read in the order of the file, because neighbors share its pages.
  ids.sort((left, right) => left - right);
  const stems = new Set(query.words.map(({ stem }) => stem));
  const dates = namedDates(query.text);
  const times = [...(query.near ? [query.near] : []), ...relativeTimes(query.text, ports.clock())];
  const candidates = source.rows(ids).map((row): Candidate => {
    const scores = found.get(row.messageId);
    return {
      messageId: row.messageId,
      sessionId: row.sessionId,
      seq: row.seq,
      name: row.role === "user" ? row.name : null,
      createdAtMs: row.createdAtMs,
      speaker: row.isCall ? "tool" : row.role,
      tokenCount: row.tokenCount,
      wordScores: factors.map((factor, index) => factor * (scores?.[index] ?? 0)),
      datedness: datedness(dates, row.createdAtMs),
      closeness: closeness(times, { fromMs: row.createdAtMs, toMs: row.createdAtMs }),
      isNamed: row.name !== null && searchWords(row.name).some((word) => stems.has(searchStem(word))),
    };
  });
  const weights = terms.map(({ weight }, index) => weight * factors[index]!);
  return { candidates, weights, terms, unknown, telling: tellingOf(terms, unknown, rarenessMax), times };
}

function repetitionsOf(source: Source, { text: asked }: Query, hits: readonly TextHit[]): number[] {
  const holdingAll = hits.filter(({ scores }) => scores.every((score) => score > 0)).map(({ messageId }) => messageId);
  const copies = source.texts(holdingAll).filter(({ text }) => text.trim() === asked.trim());
  return copies.map(({ messageId }) => messageId);
}

/**
 * Returns the users' questions that have all words of a question, and that nobody has answered yet: only calls and results follow
 * them. One of them is why somebody searches, so it is no evidence.
 */
function askingOf(source: Source, { text, phrases }: Query, hits: readonly TextHit[]): number[] {
  if (!isQuestion(text) || phrases.length > 0) return [];
  const holdingAll = hits.filter(({ scores }) => scores.every((score) => score > 0)).slice(0, ASKING_MAX);
  const rows = source.rows(holdingAll.map(({ messageId }) => messageId)).filter(({ role }) => role === "user");
  const texts = source.textsOf(rows.map(({ messageId }) => messageId));
  return rows
    .filter(({ messageId, seq }) => {
      if (!isQuestion(texts.get(messageId) ?? "")) return false;
      const near = source.rows(source.around([messageId], ASKING_RADIUS));
      return near.every((row) => row.seq <= seq || row.role === "tool" || row.isCall);
    })
    .map(({ messageId }) => messageId);
}

/** The rankings by words of all messages, and of people's messages. */
interface Rankings {
  all: readonly Ranked[];
  ofPeople: readonly Ranked[];
  people: ReadonlySet<Candidate>;
  /** The weight of the cosine of a lexical embedder. */
  vectorWeight: number;
  /** By how much the logarithm of the odds that a message answers rises with its score in `all`. In `ofPeople`, scores are such logarithms. */
  odds: number;
}

/** Yields messages by their words and vectors, best first. */
function withVectors(
  { source, messageVectors }: SearchPorts,
  { all, ofPeople, people, vectorWeight, odds }: Rankings,
  vector: QueryVector | undefined,
  scope: SearchScope,
): Iterable<Placed> {
  if (vector === undefined) return interleaved(all, ofPeople, people, odds);
  if (messageVectors === undefined) {
    const near = (ranking: readonly Ranked[]): Iterable<Ranked> =>
      byLexicalVectors(
        ranking,
        (ids) => {
          const embeddings = source.embeddings(ids, vector.embedderId);
          return new Map(Array.from(embeddings, ([id, other]) => [id, dot(other, vector.embedding)]));
        },
        vectorWeight,
      );
    return interleaved(near(all), ofPeople, people, odds);
  }
  const ids = [...all, ...ofPeople].map(({ candidate }) => candidate.messageId);
  const meaning = {
    cosines: messageVectors.cosines([...new Set(ids)], vector),
    ...messageVectors.sample(vector, scope),
  };
  return interleaved(byMeaning(all, meaning, odds), byMeaning(ofPeople, meaning, 1), people, odds);
}

/** Returns the messages nearest to a query by their vectors. */
function nearMessages({ messageVectors }: SearchPorts, vector: QueryVector | undefined, scope: SearchScope): number[] {
  if (vector === undefined || messageVectors === undefined) return [];
  return messageVectors.nearest(vector, scope).map(({ messageId }) => messageId);
}
