import type { SearchScope } from "../store/search-scope.ts";
import { foldCopies } from "./copies.ts";
import { parseQuery } from "./query.ts";
import type { Ranked } from "./ranking.ts";
import { Shown } from "./recall-hit.ts";
import {
  type ContextSearch,
  queryVector,
  type RecallPorts,
  type RecallQuery,
  search,
  wordsAndVector,
} from "./search.ts";

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
 * What `recall` finds, for a context, which shows messages by itself and needs to know which.
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
    const { ranking, weights } = search(ports, text, query, vector, scope, limit, context);
    const shown = new Shown(ports.repositories, weights, 0);
    const wanted = within(ranking, 1.5 * context.tokensMax);
    const folded = foldCopies(shown.loaded(wanted, limit), limit, (id) => shown.textOf(id));
    return folded.map(({ ranked: { evidence, score } }) => {
      const { messageId } = evidence;
      return { messageId, score, snippet: () => shown.snippetOf(messageId) };
    });
  });
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
