import type { RecallHit } from "../recall/hits.ts";
import { isQuotation } from "../recall/quotation.ts";

const NOT_LITERAL = "The quoted text was not found, so its words were searched.";

/** Returns a sentence about how the hits were found; undefined if there is nothing to say. */
export function noteOnHits(hits: readonly RecallHit[]): string | undefined {
  return hits[0]?.phrasesMissing ? NOT_LITERAL : undefined;
}

/** Returns a sentence for a query that has found nothing. */
export function nothingFound(query: string): string {
  return isQuotation(query)
    ? "No message has the quoted text. Without the quotes, its words are searched."
    : "No message has words of the query.";
}
