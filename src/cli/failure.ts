import { constants } from "node:os";
import { type ErrorCode, type ErrorDetails, StoreError } from "../core/errors.ts";
import { printableJson } from "../core/markup.ts";
import { didYouMean } from "../core/suggestion.ts";
import type { Unreadable } from "../session/moving/export.ts";
import { formatCount, oneLine } from "./screen/text.ts";

/** Failures with these codes end with exit code 2. */
const MISUSE_CODES: ReadonlySet<string> = new Set([
  "USAGE_INVALID",
  "SESSION_AMBIGUOUS",
  "OPTION_INVALID",
  "HANDLE_INVALID",
  "QUERY_EMPTY",
]);

/** These replace the library's hints, which address programmers. */
const HINTS: { [C in ErrorCode]?: (details: ErrorDetails[C]) => string | undefined } = {
  MESSAGE_CONFLICT: () => "Stored messages are never altered. Give the new version another id.",
  SESSION_NOT_FOUND: () => "`coppice sessions` lists the sessions.",
  SESSION_CONFLICT: () => "Give another session id.",
  SESSION_CHANGED: () => "Run the command again.",
  SESSION_SUPERSEDED: ({ parentSessionId: id }) =>
    `\`coppice show ${id}\` shows the session that goes on, and \`coppice rewind ${id} --undo\` takes its last rewind back.`,
  SESSION_SHARED: ({ sessionId, forkId, operation }) =>
    ({
      rewind: `\`coppice sessions fork ${sessionId}\` at an earlier message, and continue there.`,
      forget: `\`coppice forget ${forkId}\` first, or forget both with --related.`,
      change: `\`coppice forget ${forkId}\` first.`,
      move: "`coppice export` without --rows writes it, too.",
    })[operation],
  SESSION_FORGOTTEN: ({ sessionId }) => `\`coppice forget ${sessionId} --restore\` lets it come back.`,
  MESSAGE_NOT_FOUND: () =>
    "`coppice recall` and `coppice show <session>` print the ids of messages, such as message:12.",
  HANDLE_INVALID: () =>
    "A handle looks like cluster:123, theme:123@456, subject:77@460 or span:12@480; a bare number is a message id.",
  ROOT_NOT_FOUND: () => "`coppice forest <session>` lists the roots of a session, and `coppice subjects` the subjects.",
  BUDGET_TOO_SMALL: ({ tokensNeeded }) => `Give --tokens-max ${tokensNeeded} or more.`,
  STORE_READONLY: () => "Name a store with --db that you may write to.",
  STORE_BUSY: () => "Nothing was written. Try again in a few seconds.",
  FILE_EXISTS: () => "Nothing was written. Give another path, or --overwrite.",
  STORE_CLOSED: ({ isReplaced }) =>
    isReplaced ? "Nothing was written. Put the file back with the file beside it that ends in -wal." : undefined,
  MODEL_REFUSED: (refusal) =>
    refusal.concerns === "key"
      ? `Set ${refusal.variable ?? "the variable that holds it"}. Nothing was sent.`
      : undefined,
};

interface FailureDetails {
  hint?: string | undefined;
  cause?: unknown;
  /** The signal that ended the command. */
  signal?: NodeJS.Signals;
}

/**
 * The reason why a command failed.
 *
 * The code is one of the library's, or one of these: `USAGE_INVALID` (unknown command or flag, wrong number of arguments),
 * `SESSION_AMBIGUOUS` (several ids begin with what was typed), `PROJECT_NOT_FOUND` (no session is of it), `AGENT_NOT_STARTED` (its
 * program is missing), `AGENT_FAILED` (it ended with an error), `INTERRUPTED` (Ctrl-C, SIGTERM, SIGHUP), `IMPORT_INCOMPLETE` (a named path could
 * not be read, or there were warnings with `--strict`), `VERIFY_FAILED` (derived rows do not agree with the log), `DOCTOR_FAILED`
 * (something is wrong with the store), `EXPORT_INCOMPLETE` (sessions or messages could not be read) and `UNEXPECTED` (a bug).
 */
export class Failure extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  /** 1: the command failed. 2: it was misused. 128 plus the number of the signal that ended it: 130 for Ctrl-C. */
  readonly exitCode: number;

  constructor(code: string, message: string, { hint, cause, signal }: FailureDetails = {}) {
    super(message, { cause });
    this.code = code;
    this.hint = hint;
    this.exitCode = signal !== undefined ? 128 + constants.signals[signal] : MISUSE_CODES.has(code) ? 2 : 1;
  }
}

export function failureFrom(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof StoreError) {
    const hintOf = HINTS[error.code as ErrorCode] as ((details: object) => string | undefined) | undefined;
    const hint = [suggestionFor(error), hintOf?.(error.details) ?? error.hint].filter(Boolean).join(" ");
    return new Failure(error.code, error.message, { hint: hint || undefined, cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a bug. Run the command again with COPPICE_DEBUG=1 to see where it happened.";
  return new Failure("UNEXPECTED", message, { hint, cause: error });
}

/** Guesses the word that was meant, if an option takes one of a few words. */
function suggestionFor(error: StoreError): string {
  if (!StoreError.is(error, "OPTION_INVALID")) return "";
  const [, words] = /^one of (.+)$/.exec(error.details.expected) ?? [];
  return words === undefined ? "" : didYouMean(String(error.details.actual), words.split(", "));
}

export function failureJson(failure: Failure, debug: boolean): string {
  const { code, message, hint, cause } = failure;
  const details = cause instanceof StoreError && cause.code === code ? { details: shortDetails(cause.details) } : {};
  const stack = debug ? { stack: stackOf(failure) } : {};
  return printableJson({ error: { code, message, hint: hint ?? null, ...details, ...stack } });
}

/** Leaves out what a program gave, which may be of any size. */
function shortDetails(details: object): object {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => typeof value !== "object"));
}

export function failureText(failure: Failure, debug: boolean): string {
  const hint = failure.hint === undefined ? "" : `\n${failure.hint}`;
  // A message may quote a text of several lines, such as a file's name.
  return `coppice: ${oneLine(failure.message)}${hint}${debug ? `\n${stackOf(failure)}` : ""}`;
}

function stackOf(error: Error): string {
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? error.message);
}

/** A failure names at most this many sessions and messages. */
const NAMED_MAX = 5;

/** The hint of commands that show the rest of a damaged session. */
export const LEFT_OUT_HINT = "Parts of them are left out. `coppice verify` says what is damaged.";

export function placeOf({ sessionId, seq }: Unreadable): string {
  return seq === undefined ? sessionId : `${sessionId} #${seq}`;
}

/** Returns a failure that names what could not be read; undefined if everything could. */
export function unreadableFailure(code: string, unreadable: readonly Unreadable[], hint: string): Failure | undefined {
  if (unreadable.length === 0) return undefined;
  const sessionCount = unreadable.filter(({ seq }) => seq === undefined).length;
  const messageCount = unreadable.length - sessionCount;
  const counts = [
    ...(sessionCount > 0 ? [formatCount(sessionCount, "session")] : []),
    ...(messageCount > 0 ? [formatCount(messageCount, "message")] : []),
  ];
  const named = unreadable.slice(0, NAMED_MAX).map(placeOf).join(", ");
  const more = unreadable.length > NAMED_MAX ? ", …" : "";
  return new Failure(code, `${counts.join(" and ")} could not be read: ${named}${more}.`, { hint });
}
