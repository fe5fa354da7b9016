import { visibleText } from "../../core/markup.ts";
import { RECALL_CONFIDENCE_MIN, RECALL_DOUBTED_MAX } from "../../core/options.ts";
import type { RecallHit } from "../../recall/hits.ts";
import { isQuotation } from "../../recall/quotation.ts";

const NOT_LITERAL = "The quoted text was not found, so its words were searched.";

/** A note names at most this many words that no message has. */
const WORDS_MAX = 3;

/**
 * Returns a note for the reader on how the hits were found; undefined if none is needed.
 *
 * @param confidenceMin  With less, nothing is near.
 */
export function noteOnHits(hits: readonly RecallHit[], confidenceMin = RECALL_CONFIDENCE_MIN): string | undefined {
  const { confidence = 1, unknownWords = [], phrasesMissing, corrections = [] } = hits[0] ?? {};
  const notes = confidence < confidenceMin ? [nothingNear(unknownWords)] : [];
  if (phrasesMissing) notes.push(NOT_LITERAL);
  if (corrections.length > 0) {
    const meant = corrections.map((correction) => correction.meant).join(", ");
    const typed = anyOf(corrections.map((correction) => correction.typed));
    notes.push(`Did you mean ${meant}? No message has ${typed}.`);
  }
  return notes.length > 0 ? notes.join(" ") : undefined;
}

/** Returns all hits or, if nothing is near, as many as are enough to see it. */
export function worthShowing<Hit extends RecallHit>(hits: readonly Hit[]): readonly Hit[] {
  return (hits[0]?.confidence ?? 1) < RECALL_CONFIDENCE_MIN ? hits.slice(0, RECALL_DOUBTED_MAX) : hits;
}

function nothingNear(unknownWords: readonly string[]): string {
  const missing = unknownWords.length === 0 ? "enough words of the query" : anyOf(unknownWords.slice(0, WORDS_MAX));
  return `No message has ${missing}, so these are probably about something else.`;
}

function anyOf(words: readonly string[]): string {
  return words.map((word) => `"${visibleText(word)}"`).join(" or ");
}

/** Returns a sentence for a query that has found nothing. */
export function nothingFound(query: string): string {
  return isQuotation(query)
    ? "No message has the quoted text. Without the quotes, its words are searched."
    : "No message has words of the query.";
}
