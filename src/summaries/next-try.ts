import { type Backoff, backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { cutLine } from "../models/lines.ts";
import { isOfAccount } from "../models/refusal.ts";
import type { Try } from "../store/claims.ts";

const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 60 * 60 * 1_000 };

/** Milliseconds until somebody may have fixed a refused key, refused settings or a failed hook. */
const REFUSED_DELAY_MS = 60 * 60 * 1_000;

/** The longest delay in milliseconds that a service may ask for. A service that asks for more is probably wrong. */
const ASKED_DELAY_MS_MAX = 24 * 60 * 60 * 1_000;

/** Most characters of an error that are kept. */
const ERROR_CHARS_MAX = 1_000;

/** The summarizer and the open store that would make the next try, and the time. */
export interface Asker {
  summarizerId: string;
  promptVersion: number;
  claimant: string;
  nowMs: number;
}

/** The consequence of a failed call. */
export interface Consequence {
  /** `parked`: the same request would fail again. */
  status: "failed" | "parked";
  error: string;
  errorCode: string | null;
  /** Unix milliseconds; null if there must be more to summarize first. */
  nextTryAtMs: number | null;
  /** True if no other call should be made before `nextTryAtMs`. */
  pauses: boolean;
}

/**
 * Returns the consequence of a failure:
 *
 *     the content was refused          parked until there is more to summarize, or another summarizer or prompt
 *     the key or settings were refused parked for an hour, and so is everything else; a store opened again tries at once
 *     the `redact` hook failed         parked for an hour
 *     too many requests                failed; nothing is tried before the service's delay (a day at most) or ours is over
 *     anything else                    failed; tried again after a delay that doubles, up to an hour
 *
 * @param attempts  Failures in a row, this one included.
 * @param random  From 0 to 1. It shortens our delay by up to a half, so that processes that failed together come back apart.
 */
export function consequenceOf(error: unknown, attempts: number, nowMs: number, random: number): Consequence {
  const errorCode = StoreError.is(error) ? error.code : null;
  const failure = { error: cutLine(textOf(error), ERROR_CHARS_MAX), errorCode };
  const isRefused = isOfAccount(error);
  if (errorCode === "MODEL_REFUSED" && !isRefused) {
    return { ...failure, status: "parked", nextTryAtMs: null, pauses: false };
  }
  if (isRefused || errorCode === "REDACT_FAILED") {
    return { ...failure, status: "parked", nextTryAtMs: nowMs + REFUSED_DELAY_MS, pauses: isRefused };
  }
  const ownDelayMs = Math.ceil(backoffMs(attempts, BACKOFF) * (1 - random / 2));
  const { status, retryAfterMs } = StoreError.is(error, "MODEL_UNAVAILABLE") ? error.details : {};
  // A summarizer of the caller's own may say NaN.
  const askedDelayMs = Math.min(ASKED_DELAY_MS_MAX, Math.ceil(retryAfterMs || 0));
  return {
    ...failure,
    status: "failed",
    nextTryAtMs: nowMs + Math.max(ownDelayMs, askedDelayMs),
    pauses: retryAfterMs !== undefined || status === 429,
  };
}

function textOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  return typeof error === "object" ? "an object was thrown that is no error" : String(error);
}

/** Returns the number of the next try, from 1. A parked try does not count. */
export function attemptsAfter(tried: Try | undefined): number {
  if (tried === undefined) return 1;
  return tried.status === "failed" ? tried.attempts + 1 : tried.attempts;
}

/** Why a summary is not tried now. */
export interface Postponement {
  kind: "parked" | "deferred";
  nextTryAtMs: number | null;
  /** True if a summary would be no shorter than its sources. The sources are shown, and nothing stands in for them. */
  isInflated: boolean;
}

/**
 * Returns why the newest try postpones the next one; undefined if the next one may be made.
 *
 * @param extent  The last log position (theme) or seq (span) that the next summary would cover, as in `Try`.
 */
export function postponementOf(
  tried: Try | undefined,
  extent: number,
  { claimant, nowMs }: Asker,
): Postponement | undefined {
  if (tried === undefined) return undefined;
  const { status, nextTryAtMs, createdAtMs } = tried;
  if (nextTryAtMs === null) {
    const isInflated = tried.errorCode === null;
    return status === "parked" && tried.extent >= extent ? { kind: "parked", nextTryAtMs, isInflated } : undefined;
  }
  if (status === "parked" && tried.claimant !== claimant) return undefined;
  // If the try is in the future, the clock was set back since.
  if (nowMs >= nextTryAtMs || nowMs < createdAtMs) return undefined;
  return { kind: status === "parked" ? "parked" : "deferred", nextTryAtMs, isInflated: false };
}
