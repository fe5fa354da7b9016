import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../core/limits.ts";
import { oneOf, RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT, trueOrFalse, wholeNumber } from "../core/options.ts";
import { isRemote } from "../models/embedder.ts";
import type { SearchScope } from "../store/search-scope.ts";
import { foldCopies } from "./copies.ts";
import { parseQuery } from "./query.ts";
import { QUERY_VECTOR_MS_DEFAULT, remoteQueryVector } from "./query-vector.ts";
import type { Ranked } from "./ranking.ts";
import { type RecallHit, Shown } from "./recall-hit.ts";
import { scopeOf } from "./scope.ts";
import { queryVector, type RecallPorts, type RecallQuery, search, wordsAndVector } from "./search.ts";

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
    const { ranking, weights } = search(ports, text, query, vector, scope, limit);
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
