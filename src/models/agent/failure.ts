import { StoreError } from "../../core/errors.ts";
import { cutLine, oneLine } from "../lines.ts";
import { type AgentName, CALLED_AGENTS } from "./agents.ts";

const REASON_CHARS_MAX = 300;

/** How an agent says that it, or its account, is at its limit. */
const AT_LIMIT =
  /(?:usage|rate|session|weekly|daily|request|spend\w*)[ -]?limit|hit your (?:\w+ )?limit|limit (?:reached|exceeded)|quota|too many requests|\b429\b|\b529\b|RESOURCE_EXHAUSTED|overloaded/i;
/** How an agent says that nobody is logged in. */
const LOGGED_OUT =
  /not (?:logged|signed) in|log ?in\b|sign ?in\b|unauthori[sz]ed|unauthenticated|authenticat|\b40[13]\b|api[ _-]?key|(?:no|invalid|missing|expired|find|without)(?: \w+)? credentials?|auth method|no provider/i;

/** When the limit ends, as Unix seconds behind the message. */
const ENDS_AT = /\|(\d{10})\b/;
/** Or how long it lasts. */
const LASTS = /\bin (?:about )?(\d{1,4})\s*(s|m|h|d)[a-z]*\b/i;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A limit whose end is not told. */
const LIMIT_MS = 3_600_000;

/**
 * Translates what an agent said instead of an answer.
 *
 * @param isTold  True if it said so as an event, and false for what it printed otherwise.
 * @param code  Its exit code; null if a signal ended it.
 */
export function agentFailure(
  model: AgentName,
  { said, isTold, code, nowMs = Date.now() }: { said: string; isTold: boolean; code: number | null; nowMs?: number },
): StoreError {
  const reason = cutLine(oneLine(said), REASON_CHARS_MAX).replace(/\.$/, "");
  if (AT_LIMIT.test(said)) {
    return new StoreError("MODEL_UNAVAILABLE", { model, reason, retryAfterMs: limitMs(said, nowMs) });
  }
  if (LOGGED_OUT.test(said)) {
    const remedy = `${reason}; to log in, ${CALLED_AGENTS[model].logIn}`;
    return new StoreError("MODEL_REFUSED", { model, reason: remedy, concerns: "account" });
  }
  if (code === 0 && !isTold) {
    const printed = reason === "" ? "it printed nothing" : `it printed no answer, but "${reason}"`;
    return new StoreError("MODEL_ANSWER_INVALID", { model, reason: printed });
  }
  const end = code === null ? "a signal ended it" : `it ended with ${code}`;
  const told = isTold ? reason : [end, reason].filter(Boolean).join(": ");
  return new StoreError("MODEL_UNAVAILABLE", { model, reason: told });
}

function limitMs(said: string, nowMs: number): number {
  const [, seconds] = ENDS_AT.exec(said) ?? [];
  if (seconds !== undefined) return Math.max(0, Number(seconds) * 1_000 - nowMs);
  const [, count, unit] = LASTS.exec(said) ?? [];
  return count === undefined ? LIMIT_MS : Number(count) * UNIT_MS[unit!.toLowerCase()]!;
}
