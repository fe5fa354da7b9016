import { StoreError } from "../core/errors.ts";
import { cutLine, oneLine } from "./lines.ts";

const REASON_CHARS_MAX = 300;

/** HTTP statuses about the key, billing, permissions or the model's name. Every other request would be refused too. */
export const OF_ACCOUNT: readonly number[] = [401, 402, 403, 404];

/** HTTP statuses below 500 after which another try may succeed: too many requests, and timeouts. */
const TRY_AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 499]);

/** A service that asks for a longer delay is probably wrong. */
const DELAY_MS_MAX = 24 * 60 * 60 * 1_000;

/** Returns true if an error is about the key, the account or the settings, so that any request would fail. */
export function isOfAccount(error: unknown): boolean {
  if (StoreError.is(error, "EMBEDDER_MISMATCH")) return true;
  if (!StoreError.is(error, "MODEL_REFUSED")) return false;
  const { details } = error;
  return details.concerns !== undefined || OF_ACCOUNT.includes(details.status ?? 0);
}

/** Returns true for an HTTP status after which the same request would fail again. */
export function isFinal(status: number): boolean {
  return status < 500 && !TRY_AGAIN.has(status);
}

/** Returns the delay that a reply asks for in its header, in seconds or until a date: at most a day. */
export function delayInHeaders(headers: Headers): number | undefined {
  const asked = headers.get("retry-after")?.trim();
  if (asked === undefined) return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - Date.now();
  return Number.isNaN(ms) ? undefined : acceptableDelayMs(ms);
}

/** Returns the delay before the next try that a failed call asks for: 0 if it asks for none, and at most a day. */
export function askedDelayMs(failure: unknown): number {
  return StoreError.is(failure, "MODEL_UNAVAILABLE") ? acceptableDelayMs(failure.details.retryAfterMs) : 0;
}

/** A caller's own model may report NaN. */
function acceptableDelayMs(ms: number | undefined): number {
  return Math.min(DELAY_MS_MAX, Math.max(0, Math.ceil(ms || 0)));
}

/** Returns one short line without a final period, and without the key or anything that looks like a key. */
export function reasonWithout(apiKey: string | undefined, text: string): string {
  const keys = apiKey === undefined ? [] : [apiKey, encodeURIComponent(apiKey)];
  const hidden = keys.reduce((left, key) => left.replaceAll(key, "[key]"), text);
  const line = oneLine(hidden.replace(/AIza[\w-]{20,}|\b(?:sk|pa)-[\w-]{16,}/g, "[key]"));
  return cutLine(line, REASON_CHARS_MAX).replace(/\.$/, "") || "no reason was given";
}
