import type { Summarizer } from "../../src/models/summarizer.ts";

/** The same summarizer, with a call for each cluster. */
export function withoutSharedCalls({ citesSources: _, ...summarizer }: Summarizer): Summarizer {
  return summarizer;
}
