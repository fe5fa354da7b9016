import { visibleText } from "../core/markup.ts";
import type { RecallHit } from "../recall/hits.ts";
import { isQuotation } from "../recall/quotation.ts";

const NOT_LITERAL = "The quoted text was not found, so its words were searched.";

const PARTS_MISSING =
  "Parts of the hub's word index are damaged, so messages may be missing. `coppice hub keep` makes them again.";

/** Returns a note for the reader on how the hits were found; undefined if none is needed. */
export function noteOnHits(hits: readonly (RecallHit & { partsMissing?: true })[]): string | undefined {
  const { phrasesMissing, partsMissing, corrections = [] } = hits[0] ?? {};
  const notes = phrasesMissing ? [NOT_LITERAL] : [];
  if (partsMissing) notes.push(PARTS_MISSING);
  if (corrections.length > 0) {
    const meant = corrections.map((correction) => correction.meant).join(", ");
    const typed = corrections.map((correction) => `"${visibleText(correction.typed)}"`).join(" or ");
    notes.push(`Did you mean ${meant}? No message has ${typed}.`);
  }
  return notes.length > 0 ? notes.join(" ") : undefined;
}

/** Returns a sentence for a query that has found nothing. */
export function nothingFound(query: string): string {
  return isQuotation(query)
    ? "No message has the quoted text. Without the quotes, its words are searched."
    : "No message has words of the query.";
}
