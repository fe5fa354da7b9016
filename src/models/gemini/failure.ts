import { StoreError } from "../../core/errors.ts";
import { isFinal, OF_ACCOUNT, reasonWithout } from "../failures.ts";
import type { GeminiSettings } from "./options.ts";

/** Reasons in `google.rpc.ErrorInfo`, or in the status, that concern the account and not the request. */
const ACCOUNT_REASON = /^(?:API_KEY_\w+|FAILED_PRECONDITION)$/;

/** The delay in `google.rpc.RetryInfo`: seconds with a fraction. */
const RETRY_DELAY = /^(\d{1,6}(?:\.\d+)?)s$/;

interface SdkError extends Error {
  status?: number;
  code?: string;
}

/**
 * Translates an error of the SDK: to `MODEL_REFUSED` if another try is useless; to `MODEL_UNAVAILABLE`, with the server's delay,
 * if another try may succeed; to `MODEL_ANSWER_INVALID` if the response is not an answer. Callers handle their own aborts first.
 *
 * The SDK (2.32) throws an `ApiError` whose message is the response body, a `TypeError` of fetch if the connection broke, a
 * `SyntaxError` for invalid JSON, and an `AbortError` for an abort or a timeout. The error is not kept as the cause, because it
 * may contain headers, URLs and the key.
 *
 * @param headerDelayMs  The delay of the response's header, which the SDK's error lacks. The longer of the two delays counts.
 */
export function modelFailure(
  error: unknown,
  { model, apiKey, timeoutMs }: GeminiSettings,
  headerDelayMs: number | undefined,
): StoreError {
  if (StoreError.is(error)) return error;
  const { name, message, status, cause } = sdkError(error);
  if (status !== undefined) {
    const { text, retryAfterMs, isOfAccount } = readBody(message);
    const reason = reasonWithout(apiKey, text);
    if (isFinal(status)) {
      const concerns = isOfAccount || OF_ACCOUNT.includes(status) ? { concerns: "account" as const } : {};
      return new StoreError("MODEL_REFUSED", { model, reason, status, ...concerns });
    }
    const asked = [retryAfterMs, headerDelayMs].filter((ms) => ms !== undefined);
    const delay = asked.length === 0 ? {} : { retryAfterMs: Math.max(...asked) };
    return new StoreError("MODEL_UNAVAILABLE", { model, reason, status, ...delay });
  }
  if (name === "AbortError" || name === "TimeoutError") {
    return new StoreError("MODEL_UNAVAILABLE", { model, reason: `nothing came within ${timeoutMs} ms` });
  }
  if (name === "SyntaxError" || message === "Incomplete JSON segment at the end") {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is not JSON" });
  }
  // The SDK throws a TypeError for a body that is not an object. The TypeError of a broken connection has a cause.
  if (name === "TypeError" && cause === undefined) {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it has another shape" });
  }
  const { code } = sdkError(cause);
  const reason = reasonWithout(apiKey, code === undefined ? message : `${message} (${code})`);
  return new StoreError("MODEL_UNAVAILABLE", { model, reason });
}

export function loadFailure(error: unknown, { model, apiKey }: GeminiSettings): StoreError {
  const { code, message } = sdkError(error);
  const isMissing = code === "ERR_MODULE_NOT_FOUND" && message.includes("'@google/genai'");
  const reason = isMissing
    ? "it needs the package @google/genai, which is not installed; run `npm install @google/genai`"
    : reasonWithout(apiKey, `@google/genai cannot be loaded: ${message}`);
  return new StoreError("MODEL_UNAVAILABLE", { model, reason });
}

function sdkError(thrown: unknown): SdkError {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function readBody(message: string): { text: string; retryAfterMs?: number; isOfAccount: boolean } {
  let body: { error?: { message?: unknown; status?: unknown; details?: unknown } } | null;
  try {
    // In a stream, the SDK puts a few words before the body.
    body = JSON.parse(message.replace(/^got status: \w*\. /, ""));
  } catch {
    return { text: message, isOfAccount: false };
  }
  const { message: said, status, details } = body?.error ?? {};
  const text = [said, status].find((value) => typeof value === "string" && value.trim() !== "");
  const listed: ({ retryDelay?: unknown; reason?: unknown } | null)[] = Array.isArray(details) ? details : [];
  const delay = listed.map((detail) => RETRY_DELAY.exec(String(detail?.retryDelay))).find((found) => found !== null);
  const reasons = [status, ...listed.map((detail) => detail?.reason)].map(String);
  return {
    text: String(text ?? ""),
    ...(delay && { retryAfterMs: Math.ceil(Number(delay[1]) * 1_000) }),
    // Older replies mention the key only in their message.
    isOfAccount: reasons.some((reason) => ACCOUNT_REASON.test(reason)) || /^API key /i.test(String(said)),
  };
}
