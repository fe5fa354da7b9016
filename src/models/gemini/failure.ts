import { StoreError } from "../../core/errors.ts";
import { cutLine, oneLine } from "../lines.ts";
import { OF_ACCOUNT } from "../refusal.ts";
import type { GeminiSettings } from "./options.ts";

/** The most characters of a service's own error message. */
const REASON_CHARS_MAX = 300;

/** HTTP statuses below 500 that are worth another try: too many requests, and timeouts. */
const TRY_AGAIN = new Set([408, 429, 499]);

/** Reasons in `google.rpc.ErrorInfo` or in the status that concern the account and not the request. */
const ACCOUNT_REASON = /^(?:API_KEY_\w+|FAILED_PRECONDITION)$/;

/** The delay in `google.rpc.RetryInfo`: seconds with a fraction. */
const RETRY_DELAY = /^(\d{1,6}(?:\.\d+)?)s$/;

export type ModelFailure =
  | StoreError<"MODEL_REFUSED">
  | StoreError<"MODEL_UNAVAILABLE">
  | StoreError<"MODEL_ANSWER_INVALID">;

interface StatusBody {
  error?: { message?: unknown; status?: unknown; details?: unknown };
}

/**
 * Translates an error of the SDK: to `MODEL_REFUSED` if another try is useless; to `MODEL_UNAVAILABLE`, with the server's
 * delay, if another try may succeed; to `MODEL_ANSWER_INVALID` if the response is not an answer.
 *
 * The SDK (2.32) throws an `ApiError` whose message is the response body, a `TypeError` of fetch if the connection broke, a
 * `SyntaxError` for invalid JSON, and an `AbortError` for an abort or a timeout. Callers handle their own aborts first. The
 * error is not kept as the cause, because it may hold headers and URLs. The key is removed from its message.
 */
export function modelFailure(error: unknown, { model, apiKey, timeoutMs }: GeminiSettings): ModelFailure {
  const { name, message, status, cause } = errorFields(error);
  const reasonOf = (text: string): string => reasonWithout(apiKey, text);
  if (status !== undefined) {
    const { text, retryAfterMs, isOfAccount } = readBody(message);
    const reason = reasonOf(text);
    if (status < 500 && !TRY_AGAIN.has(status)) {
      const concerns = isOfAccount || OF_ACCOUNT.includes(status) ? { concerns: "account" as const } : {};
      return new StoreError("MODEL_REFUSED", { model, reason, status, ...concerns });
    }
    const delay = retryAfterMs === undefined ? {} : { retryAfterMs };
    return new StoreError("MODEL_UNAVAILABLE", { model, reason, status, ...delay });
  }
  if (name === "AbortError" || name === "TimeoutError") {
    return new StoreError("MODEL_UNAVAILABLE", { model, reason: `nothing came within ${timeoutMs} ms` });
  }
  if (name === "SyntaxError") return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is not JSON" });
  // The SDK fails on a body that is not an object. The TypeError of a broken connection has a cause.
  if (name === "TypeError" && cause === undefined) {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it has another shape" });
  }
  if (message === "Incomplete JSON segment at the end") {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is not JSON" });
  }
  const code = errorFields(cause).code;
  return new StoreError("MODEL_UNAVAILABLE", {
    model,
    reason: reasonOf(code === undefined ? message : `${message} (${code})`),
  });
}

/** Describes a failed load of the SDK. Another try may succeed, because an installation can be repaired meanwhile. */
export function loadFailure(error: unknown, { model, apiKey }: GeminiSettings): ModelFailure {
  const { code, message } = errorFields(error);
  if (code === "ERR_MODULE_NOT_FOUND" && message.includes("'@google/genai'")) {
    const reason = "it needs the package @google/genai, which is not installed; run `npm install @google/genai`";
    return new StoreError("MODEL_UNAVAILABLE", { model, reason });
  }
  const reason = reasonWithout(apiKey, `@google/genai cannot be loaded: ${message}`);
  return new StoreError("MODEL_UNAVAILABLE", { model, reason });
}

/** Returns the fields of a thrown value that `modelFailure` reads. */
function errorFields(error: unknown): {
  name?: string;
  message: string;
  status?: number;
  code?: string;
  cause?: unknown;
} {
  if (typeof error !== "object" || error === null) return { message: String(error) };
  const { name, message, status, code, cause } = error as Record<string, unknown>;
  return {
    message: typeof message === "string" ? message : "",
    ...(typeof name === "string" && { name }),
    ...(typeof status === "number" && { status }),
    ...(typeof code === "string" && { code }),
    cause,
  };
}

function readBody(message: string): { text: string; retryAfterMs?: number; isOfAccount: boolean } {
  let body: StatusBody | null;
  try {
    // In a stream, the SDK puts a few words before the body.
    body = JSON.parse(message.replace(/^got status: \w*\. /, "")) as StatusBody | null;
  } catch {
    return { text: message, isOfAccount: false };
  }
  const { message: said, status, details } = body?.error ?? {};
  const text = [said, status].find((value) => typeof value === "string" && value.trim() !== "");
  const listed: ({ retryDelay?: unknown; reason?: unknown } | null)[] = Array.isArray(details) ? details : [];
  const delays = listed.flatMap((detail) => {
    const [, seconds] = RETRY_DELAY.exec(String(detail?.retryDelay)) ?? [];
    return seconds === undefined ? [] : [Math.ceil(Number(seconds) * 1_000)];
  });
  const [retryAfterMs] = delays;
  const reasons = [status, ...listed.map((detail) => detail?.reason)].map(String);
  return {
    text: String(text ?? ""),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // Older replies mention the key only in their message.
    isOfAccount: reasons.some((reason) => ACCOUNT_REASON.test(reason)) || /^API key /i.test(String(said)),
  };
}

/** Returns one short line without a final period, with this key and anything that looks like a key removed. */
function reasonWithout(apiKey: string, text: string): string {
  const hidden = [apiKey, encodeURIComponent(apiKey)].reduce((left, key) => left.replaceAll(key, "[key]"), text);
  const line = oneLine(hidden.replace(/AIza[\w-]{20,}/g, "[key]"));
  return cutLine(line, REASON_CHARS_MAX).replace(/\.$/, "") || "no reason was given";
}
