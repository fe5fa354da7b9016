import { type Backoff, backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { askedDelayMs, isOfAccount } from "../models/failures.ts";
import { cutLine } from "../models/lines.ts";
import type { Try } from "../store/index.ts";

const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 60 * 60 * 1_000 };

/** After this time, somebody may have corrected the key, the settings or the `redact` hook. */
const REFUSED_DELAY_MS = 60 * 60 * 1_000;

const ERROR_CHARS_MAX = 1_000;

/** The summarizer and the open store that would make the next try, and the time. */
export interface Asker {
  summarizerId: string;
  promptVersion: number;
  claimant: string;
  nowMs: number;
}

export interface Consequence {
  status: "failed" | "parked";
  error: string;
  errorCode: string | null;
  /** Unix milliseconds; null if the next try must cover more messages. */
  nextTryAtMs: number | null;
  /** True if no other call should be made before `nextTryAtMs`. */
  pauses: boolean;
}

/**
 * Returns the consequence of a failure:
 *
 * - The content was refused: the summary is parked until it would cover more messages, or there is another summarizer or prompt. A full
 *   part of a cluster takes in later messages for that.
 * - The key or the settings were refused: all calls are parked for an hour, or until the store is opened again.
 * - The `redact` hook failed: the summary is parked for an hour.
 * - There were too many requests: the summary has failed. No call is made before the longer of two delays is over: the service's
 *   (a day at most), and ours.
 * - Any other error: the summary has failed. It is tried again after a delay that doubles each time, up to an hour.
 *
 * @param attempts  The number of failures in a row, including this one.
 * @param random  From 0 to 1. Shortens our delay by up to a half, so that several processes do not try again together.
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
  return {
    ...failure,
    status: "failed",
    nextTryAtMs: nowMs + Math.max(ownDelayMs, askedDelayMs(error)),
    pauses: retryAfterMs !== undefined || status === 429,
  };
}

function textOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  return typeof error === "object" ? "a thrown object that is not an Error" : String(error);
}

/** Returns the number of the next try, from 1. A parked try does not count. */
export function attemptsAfter(tried: Try | undefined): number {
  if (tried === undefined) return 1;
  return tried.status === "failed" ? tried.attempts + 1 : tried.attempts;
}

export interface Postponement {
  kind: "parked" | "deferred";
  nextTryAtMs: number | null;
  /** True if the summary was not shorter than its sources. Then contexts show the sources, and no stand-in is made. */
  isInflated: boolean;
}

/**
 * Returns why the last try postpones the next one, or undefined if the next try may start.
 *
 * @param logPosition  The log position of the next summary; for a span, the id of its last message.
 */
export function postponementOf(
  tried: Try | undefined,
  logPosition: number,
  { claimant, nowMs }: Asker,
): Postponement | undefined {
  if (tried === undefined) return undefined;
  const { status, nextTryAtMs, createdAtMs } = tried;
  if (nextTryAtMs === null) {
    const isInflated = tried.errorCode === null;
    return status === "parked" && tried.logPosition >= logPosition
      ? { kind: "parked", nextTryAtMs, isInflated }
      : undefined;
  }
  if (status === "parked" && tried.claimant !== claimant) return undefined;
  // A try in the future means that the clock was set back.
  if (nowMs >= nextTryAtMs || nowMs < createdAtMs) return undefined;
  return { kind: status === "parked" ? "parked" : "deferred", nextTryAtMs, isInflated: false };
}
