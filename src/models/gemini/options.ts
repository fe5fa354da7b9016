import { createRequire } from "node:module";
import { StoreError } from "../../core/errors.ts";
import { checkBaseUrl, checkedKey, checkRequestOptions, invalid } from "../options.ts";
import type { Redact } from "../prompt-text.ts";
import type { RequestLimits } from "../request-queue.ts";
import { PRICES, type TokenPrices } from "./usage.ts";

export interface GeminiOptions {
  /** Default: `GOOGLE_API_KEY`, else `GEMINI_API_KEY`, as in the SDK. */
  apiKey?: string;
  /** Default: `gemini-3.1-flash-lite`; for vectors, `gemini-embedding-2`. */
  model?: string;
  /** The address of the API, `http:` or `https:`. Default: `GOOGLE_GEMINI_BASE_URL`, else Google's. */
  baseUrl?: string;
  /** The time limit of one request in milliseconds: 1 to 3,600,000. Default: 60,000. */
  timeoutMs?: number;
  /** The most concurrent requests: 1 to 1,000. Default: 8. Others wait, and an abort ends the wait. */
  concurrency?: number;
  /** The most requests in any 60 seconds: 1 to 1,000,000. Default: no limit. Others wait. */
  requestsPerMinute?: number;
  /** The model's price. Default: Google's price of October 2026, if Google lists only one for the model. */
  pricePerMillionTokens?: TokenPrices;
  /**
   * Gets each text before it leaves the machine, and returns the text to send. It must be synchronous. If a text has terminal
   * escapes or invisible characters, `redact` gets it twice: as it was written, and without them.
   */
  redact?: Redact;
}

export interface GeminiSettings extends RequestLimits {
  apiKey: string;
  model: string;
  baseUrl: string | undefined;
  timeoutMs: number;
  prices: TokenPrices | undefined;
  redact: Redact | undefined;
}

const MODEL = "gemini-3.1-flash-lite";

/**
 * Checks the options before the SDK is loaded. Without a key, the SDK would look for credentials in files and on the network.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`. Neither error shows a key.
 */
export function geminiSettings(options: GeminiOptions, modelByDefault = MODEL): GeminiSettings {
  const { model: name = modelByDefault, baseUrl, timeoutMs = 60_000, redact } = options;
  const { concurrency = 8, requestsPerMinute, pricePerMillionTokens } = options;
  // The name becomes part of the request's path.
  if (typeof name !== "string" || !/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/.test(name)) {
    throw invalid("model", `the name of a model, such as ${modelByDefault}`, name);
  }
  // `models/NAME` and `NAME` are the same model, and the name becomes part of a stored embedder id.
  const model = name.replace(/^models\//, "");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  checkRequestOptions({ timeoutMs, concurrency, requestsPerMinute, redact });
  if (pricePerMillionTokens !== undefined) checkPrices(pricePerMillionTokens);
  const apiKey = keyOf(options, model);
  const prices = pricePerMillionTokens ?? PRICES.get(model);
  return { apiKey, model, baseUrl, timeoutMs, concurrency, requestsPerMinute, prices, redact };
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
  const key = checkedKey(given);
  if (key === undefined)
    throw new StoreError("MODEL_REFUSED", { model, concerns: "key", variable: "GEMINI_API_KEY or GOOGLE_API_KEY" });
  return key;
}

/** @throws {StoreError} `PACKAGE_MISSING` if the SDK is not installed. Without this, calls would fail as if Gemini did not answer. */
export function assertGeminiInstalled(): void {
  try {
    createRequire(import.meta.url).resolve("@google/genai");
  } catch {
    throw new StoreError("PACKAGE_MISSING", { package: "@google/genai", user: "Gemini" });
  }
}
