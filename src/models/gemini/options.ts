import { StoreError } from "../../core/errors.ts";
import type { Redact } from "../prompt-text.ts";
import { pricesOf, type TokenPrices } from "./prices.ts";
import type { TurnLimits } from "./turns.ts";

export interface GeminiOptions {
  /** Else `GOOGLE_API_KEY` or `GEMINI_API_KEY` of the environment; of two, the first, as the SDK has it. */
  apiKey?: string;
  /** `gemini-3.1-flash-lite`, or `gemini-embedding-2` for vectors, unless told otherwise. */
  model?: string;
  /** Where the API is; `http:` or `https:`. Else `GOOGLE_GEMINI_BASE_URL` of the environment, else Google. */
  baseUrl?: string;
  /** Milliseconds that one request may take once it is sent, from 1 to 3,600,000; 60,000, unless told otherwise. */
  timeoutMs?: number;
  /** Requests under way at once, from 1 to 1,000; 8, unless told otherwise. Others wait, and an abort ends the wait. */
  concurrency?: number;
  /** Requests sent in any 60 seconds, from 1 to 1,000,000; as many as come, unless told otherwise. Others wait. */
  requestsPerMinute?: number;
  /** What the model costs; else what Google's page said in October 2026, where it names one price for that model. */
  pricePerMillionTokens?: TokenPrices;
  /**
   * Sees every text before it leaves the machine, one by one, and returns what may leave. Synchronous. A text with terminal
   * escapes or invisible characters is seen twice: as it was written, and without them, as it will be sent.
   */
  redact?: Redact;
}

export interface GeminiSettings extends TurnLimits {
  apiKey: string;
  model: string;
  baseUrl: string | undefined;
  timeoutMs: number;
  prices: TokenPrices | undefined;
  redact: Redact | undefined;
}

const MODEL = "gemini-3.1-flash-lite";
const TIMEOUT_MS = 60_000;
const TIMEOUT_MS_MAX = 3_600_000;
const CONCURRENCY = 8;
const CONCURRENCY_MAX = 1_000;
const REQUESTS_PER_MINUTE_MAX = 1_000_000;

/**
 * Check the options before anything is loaded: without a key, the SDK would look for credentials in files and on the network.
 *
 * @throws {StoreError} `MODEL_KEY_MISSING`, `OPTION_INVALID`; neither shows a key.
 */
export function geminiSettings(options: GeminiOptions, modelByDefault = MODEL): GeminiSettings {
  const { model: name = modelByDefault, baseUrl, timeoutMs = TIMEOUT_MS, redact } = options;
  const { concurrency = CONCURRENCY, requestsPerMinute, pricePerMillionTokens } = options;
  // It stands in the path of the request.
  if (typeof name !== "string" || !/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/.test(name)) {
    throw invalid("model", `the name of a model, such as ${modelByDefault}`, name);
  }
  // Both spellings name the same model, and an embedder's id is stored.
  const model = name.replace(/^models\//, "");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  checkWhole("timeoutMs", timeoutMs, TIMEOUT_MS_MAX);
  checkWhole("concurrency", concurrency, CONCURRENCY_MAX);
  if (requestsPerMinute !== undefined) checkWhole("requestsPerMinute", requestsPerMinute, REQUESTS_PER_MINUTE_MAX);
  if (pricePerMillionTokens !== undefined) checkPrices(pricePerMillionTokens);
  if (redact !== undefined && typeof redact !== "function") throw invalid("redact", "a function", redact);
  const apiKey = keyOf(options, model);
  const prices = pricePerMillionTokens ?? pricesOf(model);
  return { apiKey, model, baseUrl, timeoutMs, concurrency, requestsPerMinute, prices, redact };
}

/** @throws {StoreError} `OPTION_INVALID` for what is no whole number from `min` to `max`. */
export function checkWhole(option: string, value: unknown, max: number, min = 1): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  throw invalid(option, `a whole number from ${min} to ${max.toLocaleString("en-US")}`, value);
}

function checkPrices(prices: TokenPrices): void {
  const isPrice = (value: unknown): boolean =>
    typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
  if (isPrice(prices?.input) && isPrice(prices?.output)) return;
  throw invalid("pricePerMillionTokens", "US dollars as { input, output }, each at least 0", prices);
}

function keyOf({ apiKey }: GeminiOptions, model: string): string {
  const { GOOGLE_API_KEY, GEMINI_API_KEY } = process.env;
  const given: unknown = apiKey ?? (GOOGLE_API_KEY || GEMINI_API_KEY);
  // Files and shells like to add a line break.
  const key = typeof given === "string" ? given.trim() : given;
  if (key === undefined || key === "") throw new StoreError("MODEL_KEY_MISSING", { model });
  // What no header can carry would be quoted in the error of whoever tries.
  if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key)) {
    throw invalid("apiKey", "a text without white space", "[not shown]");
  }
  return key;
}

function checkBaseUrl(baseUrl: unknown): void {
  const url = typeof baseUrl === "string" && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // Where a name, a password or a key may stand.
  const mayHoldSecret = /[@?#]/.test(String(baseUrl));
  if (!mayHoldSecret && (url?.protocol === "https:" || url?.protocol === "http:")) return;
  throw invalid(
    "baseUrl",
    "an http or https address without password or query",
    mayHoldSecret ? "[not shown]" : baseUrl,
  );
}

export function invalid(option: string, expected: string, actual: unknown): StoreError<"OPTION_INVALID"> {
  return new StoreError("OPTION_INVALID", { option, expected, actual });
}
