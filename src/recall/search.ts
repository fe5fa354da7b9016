import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { StoreError } from "../core/errors.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import type { EvidenceRepository } from "../store/evidence.ts";
import type { Repositories } from "../store/repositories.ts";
import { type SearchScope, withinSessions } from "../store/search-scope.ts";
import { dot } from "../vector/vector.ts";
import { askingWeight } from "./asking-words.ts";
import { datedness, namedDates } from "./dates.ts";
import { searchFullText } from "./full-text-search.ts";
import type { TextHit } from "./hits.ts";
import type { Query } from "./query.ts";
import { byVectors, type Candidate, NEIGHBORHOOD_RADIUS, type Ranked, rankCandidates } from "./ranking.ts";
import { unitVector } from "./unit-vector.ts";

/** The most messages with the query's words that are ranked, and how many of them bring their neighbors into the ranking. */
const RANKED_MAX = 500;
const SURROUNDED_MAX = 150;
const NEAREST_CLUSTERS = 10;

/** A text, or a text and its vector from the store's embedder. */
export type RecallQuery = string | { text: string; embedding?: Float32Array | readonly number[] };

/** The parts of a store that recall uses. */
export interface RecallPorts {
  repositories: Repositories;
  embedder: Embedder;
  nearest: NearestClusters;
  tokenCounter: TokenCounter;
}

/**
 * A search for a context. Its query is what somebody said, not what they typed into a search box: quotes are no operators,
 * and a message that repeats the query does not answer it.
 */
export interface ContextSearch {
  /** Messages that the context shows anyway. They are not ranked, and do not count for their session. */
  shownIds: ReadonlySet<number>;
  /** The tokens that the context has room for. Messages are read until they have one and a half times as many. */
  tokensMax: number;
}

/** @throws {StoreError} `OPTION_INVALID` if it is not a query. */
export function textAndEmbedding(asked: RecallQuery): { text: string; embedding?: unknown } {
  const query = typeof asked === "string" ? { text: asked } : asked;
  if (typeof query?.text === "string") return query;
  const expected = "a text, or an object with a text and its embedding";
  throw new StoreError("OPTION_INVALID", { option: "the query", expected, actual: asked });
}

interface QueryVector {
  embedderId: string;
  /** Has unit length. */
  embedding: Float32Array;
}

/** Returns the vector that embeddings are compared with; undefined if there is none. */
export function queryVector(
  { repositories, embedder }: RecallPorts,
  text: string,
  given: unknown,
): QueryVector | undefined {
  const stored = repositories.centroids.stamp();
  const embedderId = stored?.embedderId ?? embedder.id;
  const dimension = stored?.dimension ?? embedder.dimension;
  const embedding = given ?? (embedderId === embedder.id && !isRemote(embedder) ? embedder.embed(text) : undefined);
  if (embedding === undefined) return undefined;
  return { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}

export interface Ranking {
  /** Best first. Embeddings are read only as far as the ranking is. */
  ranking: Iterable<Ranked>;
  /** The weights of the words that were searched, by stem. */
  weights: ReadonlyMap<string, number>;
}

/**
 * Nominates messages by their words, by their neighbors and by the clusters near the query, and ranks them.
 *
 * @param limit  Most hits. Words nominate at least a few hundred messages.
 */
export function search(
  { repositories, embedder, nearest }: RecallPorts,
  text: string,
  query: Query,
  vector: QueryVector | undefined,
  scope: SearchScope,
  limit: number,
  context?: ContextSearch,
): Ranking {
  const { evidence, fullText } = repositories;
  const { terms, hits } = searchFullText(repositories, query, scope, Math.max(limit, RANKED_MAX));
  const factors = terms.map(({ stem }) => askingWeight(stem));
  const found = new Map(hits.map(({ messageId, scores }) => [messageId, scores]));
  const excluded = context === undefined ? new Set<number>() : excludedIds(context, text, hits, evidence);
  for (const id of excluded) found.delete(id);
  // The neighbor of a hit may be the answer, even if it shares no word with the question.
  const isSurrounded = query.phrases.length === 0;
  const first = [...found.keys()].slice(0, SURROUNDED_MAX);
  const around = isSurrounded ? evidence.around(first, NEIGHBORHOOD_RADIUS) : [];
  const near = isSurrounded && !embedder.isLexical ? nearMessages(repositories, nearest, vector, scope) : [];
  const others = [...new Set([...around, ...near])].filter((id) => !found.has(id) && !excluded.has(id));
  const ids = [...found.keys(), ...fullText.inScope(others, withinSessions(scope))];
  // In the order of the file, because neighbors share its pages.
  ids.sort((left, right) => left - right);
  const stems = new Set(query.words.map(({ stem }) => stem));
  const dates = namedDates(text);
  const candidates = evidence.rows(ids).map((row): Candidate => {
    const scores = found.get(row.messageId);
    return {
      messageId: row.messageId,
      sessionId: row.sessionId,
      seq: row.seq,
      speaker: row.isCall ? "tool" : row.role,
      tokenCount: row.tokenCount,
      wordScores: factors.map((factor, index) => factor * (scores?.[index] ?? 0)),
      datedness: datedness(dates, row.createdAtMs),
      isNamed: row.name !== null && searchWords(row.name).some((word) => stems.has(searchStem(word))),
    };
  });
  const weights = terms.map(({ weight }, index) => weight * factors[index]!);
  const ranking = rankCandidates(candidates, weights);
  return {
    ranking: vector === undefined ? ranking : byVectors(ranking, (ids) => similarities(evidence, ids, vector)),
    weights: new Map(terms.map(({ stem }, index) => [stem, weights[index]!])),
  };
}

/** Returns the messages that the context shows, and the hits that only repeat the query. */
function excludedIds(
  { shownIds }: ContextSearch,
  query: string,
  hits: readonly TextHit[],
  evidence: EvidenceRepository,
): ReadonlySet<number> {
  const holdingAll = hits.filter(({ scores }) => scores.every((score) => score > 0)).map(({ messageId }) => messageId);
  const copies = evidence.texts(holdingAll).filter(({ text }) => text.trim() === query.trim());
  return new Set([...shownIds, ...copies.map(({ messageId }) => messageId)]);
}

/** Returns the members of the clusters that are nearest to a query. */
function nearMessages(
  { unions, messages, fullText }: Repositories,
  nearest: NearestClusters,
  vector: QueryVector | undefined,
  scope: SearchScope,
): number[] {
  if (vector === undefined) return [];
  const position = unions.newestPosition();
  const ids = fullText.idsOf(scope);
  const inScope = ids && new Set(ids);
  const steps = nearest
    .nearest(vector.embedding, {
      k: NEAREST_CLUSTERS,
      ...(inScope && { accepts: (root: number) => inScope.has(root) }),
    })
    .flatMap(({ root }) => unions.stepsOf("cluster", root, position));
  return messages.idsOfSteps(steps);
}

function similarities(
  evidence: EvidenceRepository,
  ids: readonly number[],
  { embedderId, embedding }: QueryVector,
): Map<number, number> {
  const embeddings = evidence.embeddings(ids, embedderId);
  return new Map(Array.from(embeddings, ([id, other]) => [id, dot(other, embedding)]));
}
