import { StoreError } from "../core/errors.ts";
import { didYouMean, nearest } from "./suggestion.ts";
import { printable } from "./text.ts";

/**
 * 1: it was tried and failed. 2: what was typed makes no sense, so nothing was tried. 130: Ctrl-C ended it, as shells say
 * (128 and the signal's number).
 */
export type FailureExitCode = 1 | 2 | 130;

/** What a handle begins with. */
const LEVELS = ["cluster", "theme", "subject", "span"];

/** What is wrong with what was typed; every other code of the library means that the work itself failed. */
const MISUSE_CODES: ReadonlySet<string> = new Set(["OPTION_INVALID", "HANDLE_INVALID", "QUERY_EMPTY"]);

/**
 * Why a command did not succeed, as it is reported: a program reads `code`, a person the message and the hint.
 *
 * Codes are the library's, and some of the command line's own: `USAGE_INVALID` (unknown command or flag, wrong number of
 * arguments), `SESSION_AMBIGUOUS` (what was typed begins the ids of several sessions), `INTERRUPTED` (Ctrl-C), `IMPORT_INCOMPLETE` (a named path could not be read, or `--strict` and there were warnings),
 * `VERIFY_FAILED` (derived rows do not agree with the log), `DOCTOR_FAILED` (something is wrong with the store),
 * `EXPORT_INCOMPLETE` (messages could not be read) and `UNEXPECTED` (a bug).
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

/** Whatever was thrown, as a failure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof StoreError) {
    const exitCode = MISUSE_CODES.has(error.code) ? 2 : 1;
    const hint = [meantBy(error), error.hint].filter(Boolean).join(" ");
    return new Failure(error.code, error.message, { hint: hint || undefined, exitCode, cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a bug. Run it again with COPPICE_DEBUG=1 to see where it happened.";
  return new Failure("UNEXPECTED", message, { hint, cause: error });
}

/** What was probably meant by a word that the library does not know. */
function meantBy(error: StoreError): string {
  if (StoreError.is(error, "OPTION_INVALID")) {
    const [, words] = /^one of (.+)$/.exec(error.details.expected) ?? [];
    return words === undefined ? "" : didYouMean(String(error.details.actual), words.split(", "));
  }
  if (StoreError.is(error, "HANDLE_INVALID")) {
    const [, level, rest] = /^([^:]+):(.+)$/.exec(error.details.handle) ?? [];
    const best = level === undefined ? undefined : nearest(level, LEVELS);
    return best === undefined || best === level ? "" : `Did you mean ${best}:${rest}?`;
  }
  return "";
}

/** The failure as the one JSON object that `--json` puts on stderr. */
export function failureJson(failure: Failure, debug: boolean): string {
  const { code, message, hint } = failure;
  return JSON.stringify({
    error: { code, message, hint: hint ?? null, ...(debug ? { stack: stackOf(failure) } : {}) },
  });
}

/** The failure as lines for a person. */
export function failureText(failure: Failure, debug: boolean): string {
  const hint = failure.hint === undefined ? "" : `\n${failure.hint}`;
  // A message may quote what a service said, or an id that somebody else has given.
  return printable(`coppice: ${failure.message}${hint}${debug ? `\n${stackOf(failure)}` : ""}`);
}

/** Where it went wrong: the stack of the first cause. */
function stackOf(error: Error): string {
  return error.cause instanceof Error ? stackOf(error.cause) : (error.stack ?? error.message);
}
