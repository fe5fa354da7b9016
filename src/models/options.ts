import { StoreError } from "../core/errors.ts";
import { wholeNumber } from "../core/options.ts";
import type { Redact } from "./prompt-text.ts";

/** Returns a key without the white space around it, which files and shells add; undefined if there is none. */
export function checkedKey(given: unknown): string | undefined {
  const key = typeof given === "string" ? given.trim() : given;
  if (key === undefined || key === "") return undefined;
  // If a key has characters that no HTTP header allows, an error of fetch would quote it.
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
  throw invalid("apiKey", "a text without white space", "[not shown]");
}

export function checkBaseUrl(baseUrl: unknown): void {
  const url = typeof baseUrl === "string" && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // An address with one of these characters may contain a password or a key.
  const mayHoldSecret = /[@?#]/.test(String(baseUrl));
  if (!mayHoldSecret && (url?.protocol === "https:" || url?.protocol === "http:")) return;
  const shown = mayHoldSecret ? "[not shown]" : baseUrl;
  throw invalid("baseUrl", "an http or https address without password or query", shown);
}

/** @throws {StoreError} `OPTION_INVALID`. */
export function checkRequestOptions(options: {
  timeoutMs: number;
  concurrency: number;
  requestsPerMinute: number | undefined;
  redact: Redact | undefined;
}): void {
  const { timeoutMs, concurrency, requestsPerMinute, redact } = options;
  wholeNumber("timeoutMs", timeoutMs, 1, 3_600_000);
  wholeNumber("concurrency", concurrency, 1, 1_000);
  if (requestsPerMinute !== undefined) wholeNumber("requestsPerMinute", requestsPerMinute, 1, 1_000_000);
  if (redact !== undefined && typeof redact !== "function") throw invalid("redact", "a function", redact);
}

/** @throws {StoreError} `OPTION_INVALID`. */
export function checkSimilarityMin(similarityMin: unknown): void {
  const isCosine = typeof similarityMin === "number" && similarityMin >= -1 && similarityMin < 1;
  if (!isCosine) throw invalid("similarityMin", "a cosine below 1", similarityMin);
}

export function invalid(option: string, expected: string, actual: unknown): StoreError<"OPTION_INVALID"> {
  return new StoreError("OPTION_INVALID", { option, expected, actual });
}
