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
import { byVectors, type Evidence, NEIGHBORHOOD_RADIUS, type Ranked, rankEvidence } from "./ranking.ts";
import { unitVector } from "./unit-vector.ts";

/** Messages that are ranked: those with the query's words, what stands around the first of them, and near clusters. */
const RANKED_MAX = 500;
const SURROUNDED_MAX = 150;
const NEAREST_CLUSTERS = 10;

/** What to find messages for: a text, or with it a vector of the store's embedder that says what the text means. */
export type RecallQuery = string | { text: string; embedding?: Float32Array | readonly number[] };

/** What recall needs of the store. */
export interface RecallPorts {
  repositories: Repositories;
  embedder: Embedder;
  nearest: NearestClusters;
  tokenCounter: TokenCounter;
}

/**
 * A search on behalf of a context. Its query is what somebody has said, and not what they typed into a search box: quotes
 * are no operators, and what asks the same does not answer it.
 */
export interface ContextSearch {
  /** Messages that the context shows anyway: they are not ranked, and lend their session no weight. */
  shownIds: ReadonlySet<number>;
  /** Tokens that there is room for: of what ranks behind half as much again, nothing is read. */
  tokensMax: number;
}

/** @throws {StoreError} `OPTION_INVALID` for what is no query. */
export function wordsAndVector(asked: RecallQuery): { text: string; embedding?: unknown } {
  const query = typeof asked === "string" ? { text: asked } : asked;
  if (typeof query?.text === "string") return query;
  const expected = "a text, or an object with a text and its embedding";
  throw new StoreError("OPTION_INVALID", { option: "the query", expected, actual: asked });
}

interface QueryVector {
  embedderId: string;
  /** Of unit length. */
  embedding: Float32Array;
}

/** What the messages' embeddings are compared with; undefined where there is nothing that could be. */
export function queryVector(
  { repositories, embedder }: RecallPorts,
  text: string,
  given: unknown,
): QueryVector | undefined {
  const { embedderId, dimension } = repositories.centroids.stamp() ?? {
    embedderId: embedder.id,
    dimension: embedder.dimension,
  };
  const embedding = given ?? (embedderId === embedder.id && !isRemote(embedder) ? embedder.embed(text) : undefined);
  return embedding === undefined
    ? undefined
    : { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}

export interface Ranking {
  /** In order, found as far as it is read. */
  ranking: Iterable<Ranked>;
  /** By stem: of the words that were searched. */
  weights: ReadonlyMap<string, number>;
}

/**
 * Nominate messages by their words, by what stands around them and by the clusters near to the query, and rank them.
 *
 * @param limit  How many hits are wanted; words nominate a few hundred at least.
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
  const aside = context === undefined ? NONE : asideOf(context, text, hits, evidence);
  for (const id of aside) found.delete(id);
  // What stands beside a hit may be the answer to it, though it shares no word with the question.
  const isSurrounded = query.phrases.length === 0;
  const first = [...found.keys()].slice(0, SURROUNDED_MAX);
  const around = isSurrounded ? evidence.around(first, NEIGHBORHOOD_RADIUS) : [];
  const near = isSurrounded && !embedder.isLexical ? nearMessages(repositories, nearest, vector, scope) : [];
  const others = [...new Set([...around, ...near])].filter((id) => !found.has(id) && !aside.has(id));
  const ids = [...found.keys(), ...fullText.inScope(others, withinSessions(scope))];
  // As they stand in the file: neighbors share its pages.
  ids.sort((left, right) => left - right);
  const stems = new Set(query.words.map(({ stem }) => stem));
  const dates = namedDates(text);
  const rows = evidence.rows(ids).map((row): Evidence => {
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
  const ranking = rankEvidence(rows, weights);
  return {
    ranking: vector === undefined ? ranking : byVectors(ranking, (ids) => similarities(evidence, ids, vector)),
    weights: new Map(terms.map(({ stem }, index) => [stem, weights[index]!])),
  };
}

const NONE: ReadonlySet<number> = new Set();

/** What the context shows, and hits that say what the query says. Only those with all of its words can. */
function asideOf(
  { shownIds }: ContextSearch,
  query: string,
  hits: readonly TextHit[],
  evidence: EvidenceRepository,
): ReadonlySet<number> {
  const holdingAll = hits.filter(({ scores }) => scores.every((score) => score > 0)).map(({ messageId }) => messageId);
  const copies = evidence.texts(holdingAll).filter(({ text }) => text.trim() === query.trim());
  return new Set([...shownIds, ...copies.map(({ messageId }) => messageId)]);
}

/** Members of the clusters that are nearest to a query, whatever words they use. */
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
