import { type Backoff, backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { cutLine } from "../models/lines.ts";
import { isOfAccount } from "../models/refusal.ts";
import type { Try } from "../store/claims.ts";

const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 60 * 60 * 1_000 };

/** Milliseconds after which a store asks again whose key, settings or hook were refused: somebody may have mended them. */
const REFUSED_DELAY_MS = 60 * 60 * 1_000;

/** Milliseconds of the longest delay that a service is granted: what asks for more is more likely wrong than right. */
const TOLD_DELAY_MS_MAX = 24 * 60 * 60 * 1_000;

/** Characters of an error that are kept. */
const ERROR_CHARS_MAX = 1_000;

/** Who would make the next try, and when. */
export interface Asker {
  summarizerId: string;
  promptVersion: number;
  claimant: string;
  nowMs: number;
}

/** What a failed call says of the next one. */
export interface Consequence {
  /** `parked`: the same request would fail again. */
  status: "failed" | "parked";
  error: string;
  errorCode: string | null;
  /** null: not before more is to be summarized. */
  nextTryAtMs: number | null;
  /** Whether no other call is of use before then. */
  pauses: boolean;
}

/**
 * What follows from a failure.
 *
 *     what was sent was refused       parked until there is more to say, or another summarizer or prompt
 *     the key or settings were        parked for an hour, and so is everything else; a store that is opened anew tries at once
 *     the `redact` hook failed        the same, for these messages alone
 *     too much was asked              failed; nothing is asked before the service's own delay, of a day at most, or ours, is over
 *     all else                        failed; tried again after a delay that doubles, up to an hour
 *
 * Delays are shortened at random by up to a half, so that many who failed at once do not come back at once.
 *
 * @param attempts  Failures in a row, this one included.
 * @param random  From 0 to 1.
 */
export function consequenceOf(error: unknown, attempts: number, nowMs: number, random: number): Consequence {
  const text = cutLine(textOf(error), ERROR_CHARS_MAX);
  const errorCode = StoreError.is(error) ? error.code : null;
  const failure = { error: text, errorCode };
  const isRefused = isOfAccount(error);
  if (errorCode === "MODEL_REFUSED" && !isRefused) {
    return { ...failure, status: "parked", nextTryAtMs: null, pauses: false };
  }
  if (isRefused || errorCode === "REDACT_FAILED") {
    return { ...failure, status: "parked", nextTryAtMs: nowMs + REFUSED_DELAY_MS, pauses: isRefused };
  }
  const ownDelayMs = Math.ceil(backoffMs(attempts, BACKOFF) * (1 - random / 2));
  const { status, retryAfterMs } = StoreError.is(error, "MODEL_UNAVAILABLE") ? error.details : {};
  // No number is no delay.
  const toldDelayMs = Math.min(TOLD_DELAY_MS_MAX, Math.ceil(retryAfterMs || 0));
  return {
    ...failure,
    status: "failed",
    nextTryAtMs: nowMs + Math.max(ownDelayMs, toldDelayMs),
    pauses: retryAfterMs !== undefined || status === 429,
  };
}

/** Whatever was thrown. */
function textOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  return typeof error === "object" ? "an object was thrown that is no error" : String(error);
}

/** The how-manyth try the next one is; what was parked was no failure of its own. */
export function attemptsAfter(tried: Try | undefined): number {
  if (tried === undefined) return 1;
  return tried.status === "failed" ? tried.attempts + 1 : tried.attempts;
}

/** Why something is not to be tried now. */
export interface Postponement {
  kind: "parked" | "deferred";
  nextTryAtMs: number | null;
  /** The sources are no longer than a summary of them: they are shown, and nothing stands in for them. */
  isInflated: boolean;
}

/**
 * What the newest try says of the next one; undefined where it may be made.
 *
 * @param extent  Of what would be summarized now, as in `Try`.
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
  // A try in the future was made before the clock was set back.
  if (nowMs >= nextTryAtMs || nowMs < createdAtMs) return undefined;
  return { kind: status === "parked" ? "parked" : "deferred", nextTryAtMs, isInflated: false };
}
