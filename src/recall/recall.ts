import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../core/limits.ts";
import type { Role } from "../core/message.ts";
import { oneOf, RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT, trueOrFalse, wholeNumber } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import type { EvidenceRepository, TextRow } from "../store/evidence.ts";
import type { Repositories } from "../store/repositories.ts";
import { type SearchScope, withinSessions } from "../store/search-scope.ts";
import { dot } from "../vector/vector.ts";
import { askingWeight } from "./asking-words.ts";
import { chunksOf } from "./chunks.ts";
import { type Folded, foldCopies } from "./copies.ts";
import { datedness, namedDates } from "./dates.ts";
import { searchFullText } from "./full-text-search.ts";
import type { TextHit } from "./hits.ts";
import { parseQuery, type Query } from "./query.ts";
import { QUERY_VECTOR_MS_DEFAULT, remoteQueryVector } from "./query-vector.ts";
import {
  byVectors,
  type Evidence,
  NEIGHBORHOOD_RADIUS,
  type Ranked,
  rankEvidence,
  type ScoreParts,
} from "./ranking.ts";
import { scopeOf } from "./scope.ts";
import { snippetOf } from "./snippet.ts";
import { unitVector } from "./unit-vector.ts";

/** Messages that are ranked: those with the query's words, what stands around the first of them, and near clusters. */
const RANKED_MAX = 500;
const SURROUNDED_MAX = 150;
const NEAREST_CLUSTERS = 10;

/** What to find messages for: a text, or with it a vector of the store's embedder that says what the text means. */
export type RecallQuery = string | { text: string; embedding?: Float32Array | readonly number[] };

/** Which messages, how many, and how much of them. */
export interface RecallOptions extends SearchScope {
  /** Most hits, from 1 to 1,000; 10 unless given. */
  limit?: number;
  /** Most tokens of all hits' texts and neighbors together; a hit that does not fit makes way for the next. */
  tokensMax?: number;
  /** Messages shown before and after each hit, from 0 to 10; 1 unless given. */
  neighbors?: number;
  /** Whether each hit says what its score is the sum of. */
  explain?: boolean;
  /**
   * How long to wait for the query's vector where the embedder is remote, in milliseconds from 0 to 60,000; 2,000 unless
   * given. Where none comes, messages are found by words only, and no hit's `parts` have a share of meaning.
   */
  vectorMsMax?: number;
  signal?: AbortSignal;
}

const RECALL_OPTIONS: readonly string[] = [
  "limit",
  "tokensMax",
  "neighbors",
  "explain",
  "vectorMsMax",
  "signal",
  "project",
  "sessionIds",
  "roles",
  "partTypes",
  "sinceMs",
  "untilMs",
] satisfies (keyof RecallOptions)[];

/** A message that answers a query, and where it stands. */
export interface RecallHit {
  messageId: number;
  sessionId: string;
  seq: number;
  role: Role;
  name?: string;
  createdAtMs: number;
  /** Its words, as they are embedded and searched; `expand` and `messages` have the message itself. */
  text: string;
  /** Comparable only with those of the same call; higher is better. */
  score: number;
  /** The stretch of the text that has most of the query's words, which stand between `**`. */
  snippet: string;
  /** Handle of its cluster, for `expand`; null while it is hot. */
  root: string | null;
  /** What was said before and after it, in order. */
  neighbors: RecallNeighbor[];
  /** Messages that say the same nearly word for word, and rank below it. */
  copies: { messageId: number; sessionId: string; seq: number }[];
  /** With `explain`: what the score is the sum of. */
  parts?: ScoreParts;
}

export interface RecallNeighbor {
  messageId: number;
  seq: number;
  role: Role;
  name?: string;
  /** As `RecallHit.snippet`: a few lines of it at most. */
  snippet: string;
}

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

/** A message that a context may show. */
export interface ContextHit {
  messageId: number;
  /** As `RecallHit.score`. */
  score: number;
  /** As `RecallHit.snippet`, made when it is asked for: most messages are shown whole. */
  snippet: () => string;
}

/** Of a longer message a context shows a stretch. */
const HIT_TOKENS_MAX = 120;

/**
 * The messages that answer a query, in whichever session they stand, the best first. Reads only.
 *
 * Any text is a query; what stands in double quotes has to be in a hit letter by letter. Full text nominates messages, a few
 * hundred at most, and so do the clusters nearest to the query where vectors know more than words; `rankEvidence` orders them.
 *
 * A text alone is compared by the vector that the embedder makes of it; where the store was opened to read with another
 * embedder than it was made with, or a remote embedder does not answer in time, by its words only.
 *
 * @throws {StoreError} `QUERY_EMPTY`; `OPTION_INVALID`; `VECTOR_INVALID` for an embedding that the store's embedder cannot
 *   have made; `STORE_CORRUPT` where the full-text index is damaged.
 */
export async function recall(
  ports: RecallPorts,
  asked: RecallQuery,
  options: RecallOptions & { signal: AbortSignal },
): Promise<RecallHit[]> {
  for (const name of Object.keys(options)) oneOf("an option of recall", name, RECALL_OPTIONS);
  const limit = wholeNumber("limit", options.limit ?? RECALL_LIMIT_DEFAULT, 1, RECALL_LIMIT_MAX);
  const tokensMax = wholeNumber("tokensMax", options.tokensMax ?? Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER);
  const neighborCount = wholeNumber(
    "neighbors",
    options.neighbors ?? RECALL_NEIGHBORS_DEFAULT,
    0,
    RECALL_NEIGHBORS_MAX,
  );
  const explain = trueOrFalse("explain", options.explain ?? false);
  const vectorMsMax = wholeNumber("vectorMsMax", options.vectorMsMax ?? QUERY_VECTOR_MS_DEFAULT, 0, 60_000);
  const scope = scopeOf(options);
  const { text, embedding: given } = wordsAndVector(asked);
  const query = parseQuery(text);
  ports.repositories.database.assertOpen();
  const isAsked = given === undefined && isRemote(ports.embedder);
  const embedding = isAsked ? await remoteQueryVector(ports, text, vectorMsMax, options.signal) : given;
  return ports.repositories.database.read(() => {
    const vector = queryVector(ports, text, embedding);
    const { ranking, weights } = rank(ports, text, query, vector, scope, Math.max(limit, RANKED_MAX));
    const shown = new Shown(ports.repositories, weights, neighborCount);
    let tokensLeft = tokensMax;
    const isAffordable = ({ evidence }: Ranked): boolean => {
      if (tokensMax === Number.MAX_SAFE_INTEGER) return true;
      const cost = shown.tokensOf(evidence, ports.tokenCounter, tokensLeft);
      if (cost > tokensLeft) return false;
      tokensLeft -= cost;
      return true;
    };
    const folded = foldCopies(shown.loaded(ranking, limit), limit, (id) => shown.textOf(id), isAffordable);
    return folded.map((hit) => shown.hitOf(hit, explain));
  });
}

/**
 * The same for a context, which shows messages by itself and needs to know which.
 *
 * @param limit  Most hits.
 */
export function recallForContext(
  ports: RecallPorts,
  asked: RecallQuery,
  scope: SearchScope,
  limit: number,
  context: ContextSearch,
): ContextHit[] {
  const { text, embedding } = wordsAndVector(asked);
  const query = { ...parseQuery(text), phrases: [] };
  return ports.repositories.database.read(() => {
    const vector = queryVector(ports, text, embedding);
    const { ranking, weights } = rank(ports, text, query, vector, scope, Math.max(limit, RANKED_MAX), context);
    const shown = new Shown(ports.repositories, weights, 0);
    const wanted = within(ranking, 1.5 * context.tokensMax);
    const folded = foldCopies(shown.loaded(wanted, limit), limit, (id) => shown.textOf(id));
    return folded.map(({ ranked: { evidence, score } }) => {
      const { messageId } = evidence;
      return { messageId, score, snippet: () => shown.snippetOf(messageId) };
    });
  });
}

function wordsAndVector(asked: RecallQuery): { text: string; embedding?: unknown } {
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
function queryVector({ repositories, embedder }: RecallPorts, text: string, given: unknown): QueryVector | undefined {
  const { embedderId, dimension } = repositories.centroids.stamp() ?? {
    embedderId: embedder.id,
    dimension: embedder.dimension,
  };
  const embedding = given ?? (embedderId === embedder.id && !isRemote(embedder) ? embedder.embed(text) : undefined);
  return embedding === undefined
    ? undefined
    : { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}

interface Ranking {
  /** In order, found as far as it is read. */
  ranking: Iterable<Ranked>;
  /** By stem: of the words that were searched. */
  weights: ReadonlyMap<string, number>;
}

function rank(
  { repositories, embedder, nearest }: RecallPorts,
  text: string,
  query: Query,
  vector: QueryVector | undefined,
  scope: SearchScope,
  limit: number,
  context?: ContextSearch,
): Ranking {
  const { evidence, fullText } = repositories;
  const { terms, hits } = searchFullText(repositories, query, scope, limit);
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

/** The first of a ranking that use up so many tokens. */
function* within(ranking: Iterable<Ranked>, tokensMax: number): Generator<Ranked> {
  let tokens = 0;
  for (const ranked of ranking) {
    yield ranked;
    tokens += Math.min(ranked.evidence.tokenCount, HIT_TOKENS_MAX);
    if (tokens > tokensMax) return;
  }
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

/** What hits show of their messages and of those around them, read when it is needed. */
class Shown {
  readonly #repositories: Repositories;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #neighborCount: number;
  readonly #rows = new Map<number, TextRow>();
  /** By message: what stands around it. */
  readonly #neighbors = new Map<number, RecallNeighbor[]>();
  /** By session: where its log ends. */
  readonly #positions = new Map<string, number>();

  constructor(repositories: Repositories, weights: ReadonlyMap<string, number>, neighborCount: number) {
    this.#repositories = repositories;
    this.#weights = weights;
    this.#neighborCount = neighborCount;
  }

  /** A ranking, of which so many messages are read together: one after the other takes longer. */
  *loaded(ranking: Iterable<Ranked>, count: number): Generator<Ranked> {
    for (const chunk of chunksOf(ranking, count)) {
      for (const row of this.#repositories.evidence.texts(chunk.map(({ evidence }) => evidence.messageId))) {
        this.#rows.set(row.messageId, row);
      }
      yield* chunk;
    }
  }

  textOf(messageId: number): string {
    return this.#rows.get(messageId)!.text;
  }

  snippetOf(messageId: number): string {
    return snippetOf(this.textOf(messageId), this.#weights);
  }

  /** What a hit costs with its neighbors; without them where it costs too much alone. */
  tokensOf(evidence: Evidence, tokenCounter: TokenCounter, tokensMax: number): number {
    const alone = tokenCounter.count(this.textOf(evidence.messageId));
    if (alone > tokensMax) return alone;
    return this.#neighborsOf(evidence).reduce((sum, { snippet }) => sum + tokenCounter.count(snippet), alone);
  }

  hitOf({ ranked, copies }: Folded, explain: boolean): RecallHit {
    const { evidence, score, parts } = ranked;
    const { messageId, sessionId, seq } = evidence;
    const { role, name, text, createdAtMs, stepId } = this.#rows.get(messageId)!;
    return {
      messageId,
      sessionId,
      seq,
      role,
      ...(name !== null && { name }),
      createdAtMs,
      text,
      score,
      snippet: snippetOf(text, this.#weights),
      root: this.#rootOf(sessionId, stepId),
      neighbors: this.#neighborsOf(evidence),
      copies: copies.map((copy) => ({
        messageId: copy.evidence.messageId,
        sessionId: copy.evidence.sessionId,
        seq: copy.evidence.seq,
      })),
      ...(explain && { parts }),
    };
  }

  #neighborsOf({ messageId }: Evidence): RecallNeighbor[] {
    const known = this.#neighbors.get(messageId); // counted against a budget first, and then shown
    if (known !== undefined) return known;
    const neighbors = this.#neighborCount === 0 ? [] : this.#readNeighbors(messageId);
    this.#neighbors.set(messageId, neighbors);
    return neighbors;
  }

  #readNeighbors(messageId: number): RecallNeighbor[] {
    const around = this.#repositories.evidence.around([messageId], this.#neighborCount);
    return this.#repositories.evidence
      .texts(around.filter((id) => id !== messageId))
      .toSorted((left, right) => left.seq - right.seq)
      .map(({ messageId: id, seq: place, role, name, text }) => ({
        messageId: id,
        seq: place,
        role,
        ...(name !== null && { name }),
        snippet: snippetOf(text, this.#weights),
      }));
  }

  #rootOf(sessionId: string, stepId: number): string | null {
    const { unions } = this.#repositories;
    const root = unions.clusterOf(stepId);
    if (root === undefined) return null;
    let position = this.#positions.get(sessionId);
    if (position === undefined) {
      position = unions.lastPosition(sessionId);
      this.#positions.set(sessionId, position);
    }
    return formatHandle("cluster", root, position);
  }
}
