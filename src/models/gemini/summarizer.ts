import { once } from "../../core/once.ts";
import { wholeNumber } from "../../core/options.ts";
import type { Summarizer } from "../summarizer.ts";
import { type GeminiOptions, geminiSettings } from "./options.ts";
import { PROMPT_VERSION } from "./prompt.ts";

export interface GeminiSummarizerOptions extends GeminiOptions {
  /**
   * The most tokens of a reply, by the model's count: 1 to 65,536. Default: 8,192. A longer reply fails, so leave room for three
   * times `summaryTokensMax`: names, citations and JSON need tokens too.
   */
  outputTokensMax?: number;
}

/**
 * Creates a summarizer that uses Gemini. It writes sentences, each with the seqs of its source messages: `Decided: The old host
 * stays for a week. [5,7-9]`.
 *
 * The messages of clusters and earlier summaries leave the machine, each text after `redact` and cut to 8,000 characters. So does
 * the time of the first message of each day. Ids and reasoning do not. One call is one request, and
 * nothing is retried here.
 *
 * Each answer is checked against the sources. Citations of messages that were not sent are dropped or corrected. Identifiers and
 * files that occur nowhere are left out. A statement is marked `[unverified]` if it has no source, or if a name or number in it
 * occurs nowhere. An unverified statement is not a source for later summaries. The check finds invented names, but cannot tell
 * if a sentence is true.
 *
 * The text costs at most `tokensMax` by `countTokens`, and never more than its sources. Messages without words are only counted,
 * and nothing is sent for them.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`. `summarize` rejects with the signal's reason if aborted; with
 *   `MODEL_REFUSED` if another try is useless; with `MODEL_UNAVAILABLE`, and `retryAfterMs` if the service names a delay; with
 *   `MODEL_ANSWER_INVALID`; or with `REDACT_FAILED`. No error contains the key.
 */
export function geminiSummarizer(options: GeminiSummarizerOptions = {}): Summarizer {
  const { outputTokensMax = 8_192, ...shared } = options;
  wholeNumber("outputTokensMax", outputTokensMax, 1, 65_536);
  const settings = geminiSettings(shared);
  // The client is imported late, because most programs never use Gemini.
  const summarizing = once(async () => {
    const { summarizeWith } = await import("./summarize.ts");
    const { GeminiClient } = await import("./client.ts");
    return summarizeWith(new GeminiClient(settings), outputTokensMax);
  });
  return {
    id: settings.model,
    promptVersion: PROMPT_VERSION,
    citesSources: true,
    summarize: async (request) => (await summarizing())(request),
  };
}
