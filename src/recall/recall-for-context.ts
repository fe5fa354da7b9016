import type { SearchScope } from "../store/search-scope.ts";
import { foldCopies } from "./copies.ts";
import { HitReader } from "./hit-reader.ts";
import { parseQuery } from "./query.ts";
import type { Ranked } from "./ranking.ts";
import {
  type ContextSearch,
  queryVector,
  type RecallPorts,
  type RecallQuery,
  search,
  textAndEmbedding,
} from "./search.ts";

/** The most tokens of a message that a context shows whole. Longer messages are shown as snippets. */
const HIT_TOKENS_MAX = 120;

/**
 * Finds the messages that answer the query of a context, as `recall` does. The context formats them.
 *
 * @param limit  Most hits.
 * @returns the hits, best first. A snippet is made when it is needed, because most messages are shown whole.
 */
export function recallForContext(
  ports: RecallPorts,
  asked: RecallQuery,
  scope: SearchScope,
  limit: number,
  context: ContextSearch,
): { messageId: number; score: number; snippet: () => string }[] {
  const { text, embedding } = textAndEmbedding(asked);
  const query = { ...parseQuery(text), phrases: [] };
  return ports.repositories.database.read(() => {
    const vector = queryVector(ports, text, embedding);
    const { ranking, weights } = search(ports, text, query, vector, scope, limit, context);
    const reader = new HitReader(ports.repositories, weights, 0);
    const wanted = within(ranking, 1.5 * context.tokensMax);
    const folded = foldCopies(reader.loaded(wanted, limit), limit, (id) => reader.textOf(id));
    return folded.map(({ ranked: { candidate, score } }) => {
      const { messageId } = candidate;
      return { messageId, score, snippet: () => reader.snippetOf(messageId) };
    });
  });
}

/** Yields the first messages of a ranking until their tokens exceed `tokensMax`. */
function* within(ranking: Iterable<Ranked>, tokensMax: number): Generator<Ranked> {
  let tokens = 0;
  for (const ranked of ranking) {
    yield ranked;
    tokens += Math.min(ranked.candidate.tokenCount, HIT_TOKENS_MAX);
    if (tokens > tokensMax) return;
  }
}
