import { StoreError } from "../../core/errors.ts";
import { cutLine, oneLine } from "../lines.ts";
import { OF_ACCOUNT } from "../refusal.ts";
import type { GeminiSettings } from "./options.ts";

/** Characters of what a service says about its failure. */
const REASON_CHARS_MAX = 300;

/** Too many requests, and the two with which servers give up on slow ones; all the rest below 500 is about the request. */
const TRY_AGAIN = new Set([408, 429, 499]);

/** What `google.rpc.ErrorInfo` and the status say of a 400 that is no more about what was sent. */
const ACCOUNT_REASON = /^(?:API_KEY_\w+|FAILED_PRECONDITION)$/;

/** What `google.rpc.RetryInfo` has: seconds, with a fraction. */
const RETRY_DELAY = /^(\d{1,6}(?:\.\d+)?)s$/;

export type ModelFailure =
  | StoreError<"MODEL_REFUSED">
  | StoreError<"MODEL_UNAVAILABLE">
  | StoreError<"MODEL_ANSWER_INVALID">;

interface StatusBody {
  error?: { message?: unknown; status?: unknown; details?: unknown };
}

/**
 * What an error of the SDK means for whoever called it: `MODEL_REFUSED` where trying again is of no use, `MODEL_UNAVAILABLE`
 * where it is, with the server's own delay, `MODEL_ANSWER_INVALID` where what came is no answer.
 *
 * The SDK (2.32) throws an `ApiError` whose message is the body as JSON; fetch's `TypeError` where the connection broke; the
 * `SyntaxError` of JSON; and an `AbortError` for both an abort and a timeout: a caller that aborted knows, and asks for no
 * reason. The error itself is not kept as a cause, since it may hold headers and URLs; the key is cut out of its words.
 */
export function failureOf(error: unknown, { model, apiKey, timeoutMs }: GeminiSettings): ModelFailure {
  const { name, message, status, cause } = shapeOf(error);
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
  if (name === "SyntaxError") return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is no JSON" });
  // The SDK trips over a body that is no object; a connection that broke has a cause.
  if (name === "TypeError" && cause === undefined) {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it has another shape" });
  }
  if (message === "Incomplete JSON segment at the end") {
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is no JSON" });
  }
  const code = shapeOf(cause).code;
  return new StoreError("MODEL_UNAVAILABLE", {
    model,
    reason: reasonOf(code === undefined ? message : `${message} (${code})`),
  });
}

/** What it means that the SDK could not be loaded: a broken installation can be mended while the process runs. */
export function loadFailureOf(error: unknown, { model, apiKey }: GeminiSettings): ModelFailure {
  const reason = reasonWithout(apiKey, `@google/genai cannot be loaded: ${shapeOf(error).message}`);
  return new StoreError("MODEL_UNAVAILABLE", { model, reason });
}

/** Of a value that was thrown, what tells the cases apart. */
function shapeOf(error: unknown): { name?: string; message: string; status?: number; code?: string; cause?: unknown } {
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
    // In a stream it stands behind a few words of the SDK.
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
    // Older replies name the key only in their words.
    isOfAccount: reasons.some((reason) => ACCOUNT_REASON.test(reason)) || /^API key /i.test(String(said)),
  };
}

/** One line of bounded length, without its last stop, in which no key stands: not this one, and none that looks like one. */
function reasonWithout(apiKey: string, text: string): string {
  const hidden = [apiKey, encodeURIComponent(apiKey)].reduce((left, key) => left.replaceAll(key, "[key]"), text);
  const line = oneLine(hidden.replace(/AIza[\w-]{20,}/g, "[key]"));
  return cutLine(line, REASON_CHARS_MAX).replace(/\.$/, "") || "no reason was given";
}
