import { StoreError } from "../core/errors.ts";
import { didYouMean, nearest } from "./suggestion.ts";
import { printable } from "./text.ts";

/** 1: the command failed. 2: the command was misused, so nothing was tried. 130: Ctrl-C (128 plus the signal's number). */
export type FailureExitCode = 1 | 2 | 130;

/** The levels that a handle begins with. */
const LEVELS = ["cluster", "theme", "subject", "span"];

/** Errors of the library that mean a misuse. All others mean that the work itself failed. */
const MISUSE_CODES: ReadonlySet<string> = new Set(["OPTION_INVALID", "HANDLE_INVALID", "QUERY_EMPTY"]);

/**
 * The reason why a command failed. A program reads `code`, and a person reads the message and the hint.
 *
 * The code is one of the library's, or one of these: `USAGE_INVALID` (unknown command or flag, wrong number of arguments),
 * `SESSION_AMBIGUOUS` (several ids begin with what was typed), `INTERRUPTED` (Ctrl-C), `IMPORT_INCOMPLETE` (a named path
 * could not be read, or there were warnings with `--strict`), `VERIFY_FAILED` (derived rows do not agree with the log),
 * `DOCTOR_FAILED` (something is wrong with the store), `EXPORT_INCOMPLETE` (messages could not be read) and `UNEXPECTED` (a
 * bug).
 */
export class Failure extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: FailureExitCode;

  constructor(
    code: string,
    message: string,
    options: { hint?: string | undefined; exitCode?: FailureExitCode; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}

/** Turns anything that was thrown into a failure. */
export function failureFrom(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof StoreError) {
    const exitCode = MISUSE_CODES.has(error.code) ? 2 : 1;
    const hint = [suggestionFor(error), error.hint].filter(Boolean).join(" ");
    return new Failure(error.code, error.message, { hint: hint || undefined, exitCode, cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a bug. Run it again with COPPICE_DEBUG=1 to see where it happened.";
  return new Failure("UNEXPECTED", message, { hint, cause: error });
}

/** Returns a guess at the word that was meant, if the library does not know the word that was typed. */
function suggestionFor(error: StoreError): string {
  if (StoreError.is(error, "OPTION_INVALID")) {
    const [, words] = /^one of (.+)$/.exec(error.details.expected) ?? [];
    return words === undefined ? "" : didYouMean(String(error.details.actual), words.split(", "));
  }
  if (StoreError.is(error, "HANDLE_INVALID")) {
    const [, level, position] = /^([^:]+):(.+)$/.exec(error.details.handle) ?? [];
    const best = level === undefined ? undefined : nearest(level, LEVELS);
    return best === undefined || best === level ? "" : `Did you mean ${best}:${position}?`;
  }
  return "";
}

/** Writes the failure as the JSON object that `--json` puts on stderr. */
export function failureJson(failure: Failure, debug: boolean): string {
  const { code, message, hint } = failure;
  return JSON.stringify({
    error: { code, message, hint: hint ?? null, ...(debug ? { stack: stackOf(failure) } : {}) },
  });
}

/** Writes the failure as lines for a person. */
export function failureText(failure: Failure, debug: boolean): string {
  const hint = failure.hint === undefined ? "" : `\n${failure.hint}`;
  // A message may quote untrusted text, such as an answer of a service or an imported id.
  return printable(`coppice: ${failure.message}${hint}${debug ? `\n${stackOf(failure)}` : ""}`);
}

/** Returns the stack of the first cause. */
function stackOf(error: Error): string {
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? error.message);
}
