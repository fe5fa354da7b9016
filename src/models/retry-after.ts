import { StoreError } from "../core/errors.ts";

/** A service that asks for a longer delay is probably wrong. */
const DELAY_MS_MAX = 24 * 60 * 60 * 1_000;

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
