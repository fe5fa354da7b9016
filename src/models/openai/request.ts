import { StoreError } from "../../core/errors.ts";
import { delayInHeaders, isFinal, OF_ACCOUNT, reasonWithout } from "../failures.ts";

export interface Endpoint {
  url: string;
  model: string;
  timeoutMs: number;
  /** Undefined for a server that needs none. */
  apiKey: string | undefined;
}

/** A longer reply is refused. 2,048 vectors of 8,192 numbers have fewer bytes than this in most formats. */
const REPLY_BYTES_MAX = 512 * 1024 * 1024;

/** Servers such as llama.cpp say this, with status 500, if a text is too long. Another try would fail too. */
const TOO_LONG = /too large|batch size|context length/i;

/**
 * Sends one request as JSON, and returns the reply as JSON. The whole request takes at most `timeoutMs`. Redirections are not
 * followed, because they could carry the texts and the key elsewhere.
 *
 * @throws the signal's reason if aborted; {StoreError} `MODEL_REFUSED`, `MODEL_UNAVAILABLE`, `MODEL_ANSWER_INVALID`.
 */
export async function requestJson(endpoint: Endpoint, body: object, signal: AbortSignal): Promise<unknown> {
  const { url, model, timeoutMs, apiKey } = endpoint;
  signal.throwIfAborted();
  const late = new AbortController();
  // An `AbortSignal.timeout` inside `AbortSignal.any` may be garbage-collected in Node 20. Then the call would never end.
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.any([signal, late.signal]),
    });
    const text = await textOf(response, model);
    if (!response.ok) throw statusFailure(endpoint, response, text);
    return parsed(text, model);
  } catch (error) {
    signal.throwIfAborted();
    if (StoreError.is(error)) throw error;
    if (late.signal.aborted) {
      throw new StoreError("MODEL_UNAVAILABLE", { model, reason: `nothing came within ${timeoutMs} ms` });
    }
    const { message, cause } = error as Error & { cause?: { code?: string } };
    const code = cause?.code;
    const reason = reasonWithout(apiKey, code === undefined ? message : `${message} (${code})`);
    throw new StoreError("MODEL_UNAVAILABLE", { model, reason });
  } finally {
    clearTimeout(timer);
  }
}

async function textOf(response: Response, model: string): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > REPLY_BYTES_MAX) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is too long" });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string, model: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it is not JSON" });
  }
}

function statusFailure({ model, apiKey }: Endpoint, response: Response, text: string): StoreError {
  const { status } = response;
  const reason = reasonWithout(apiKey, status < 400 ? "the server redirects the request" : messageIn(text));
  if (isFinal(status) || (status >= 500 && TOO_LONG.test(reason))) {
    const concerns = OF_ACCOUNT.includes(status) || status < 400 ? { concerns: "account" as const } : {};
    return new StoreError("MODEL_REFUSED", { model, reason, status, ...concerns });
  }
  const retryAfterMs = delayInHeaders(response.headers);
  return new StoreError("MODEL_UNAVAILABLE", {
    model,
    reason,
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Servers answer `{ error: { message } }`, `{ error }`, `{ message }` or `{ detail }`. */
function messageIn(text: string): string {
  let body: { error?: { message?: unknown } | string | null; message?: unknown; detail?: unknown } | null;
  try {
    body = JSON.parse(text);
  } catch {
    return text;
  }
  const { error, message, detail } = body ?? {};
  const said = [typeof error === "object" ? error?.message : error, message, detail];
  return said.find((value): value is string => typeof value === "string" && value.trim() !== "") ?? "";
}
