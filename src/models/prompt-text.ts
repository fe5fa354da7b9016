import { StoreError } from "../core/errors.ts";
import { replaceHidden } from "../core/invisible.ts";
import { element, escapeText } from "../core/markup.ts";
import { excerpt, oneLine, plainText } from "./lines.ts";
import { Pace } from "./pace.ts";

const PLAIN: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };

/** Returns a text without anything that must not leave the machine. */
export type Redact = (text: string) => string;

/**
 * Prepares a text for a prompt: redacts it, removes terminal escapes, control and invisible characters, and keeps 8,000
 * characters of its beginning and end. The result is not escaped.
 *
 * `redact` gets the whole text, because a cut could hide half of a secret. If cleaning changes the text, `redact` gets it again,
 * because a color code inside a secret hides the secret from the first call. @throws {StoreError} `REDACT_FAILED`.
 */
export function promptText(text: string, redact: Redact | undefined): string {
  return excerpt(cleanText(text, redact));
}

/**
 * Prepares texts that are embedded, each like `promptText`. A service may refuse a whole batch because of one empty text.
 *
 * @throws {StoreError} `REDACT_FAILED`; the signal's reason if aborted.
 */
export async function promptTextsOf(
  texts: readonly string[],
  redact: Redact | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const pace = new Pace(signal);
  const clean: string[] = [];
  for (const text of texts) {
    clean.push(promptText(text, redact).trim() || "…");
    await pace.worked(text.length);
  }
  return clean;
}

/** Prepares a text like `promptText`, and keeps all of it. @throws {StoreError} `REDACT_FAILED`. */
export function cleanText(text: string, redact: Redact | undefined): string {
  const written = redacted(text, redact);
  const seen = visible(written);
  return seen === written ? seen : visible(redacted(seen, redact));
}

/** Puts a text into an element that the text cannot close. Every text of a conversation needs this before it enters a prompt. */
export function promptElement(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  text: string,
): string {
  return element(name, attributes, `\n${escapeText(text)}\n`);
}

/** Returns a model's text on one line, without invisible characters, and with copied entities unescaped. */
export function replyLine(text: string): string {
  const line = withoutHidden(text).replace(/&(?:lt|gt|amp|quot);/g, (entity) => PLAIN[entity]!);
  return oneLine(line);
}

function visible(text: string): string {
  return withoutHidden(plainText(text));
}

function withoutHidden(text: string): string {
  return replaceHidden(text, () => "");
}

/** @throws {StoreError} `REDACT_FAILED`. */
export function redacted(text: string, redact: Redact | undefined): string {
  if (redact === undefined) return text;
  let result: unknown;
  try {
    result = redact(text);
  } catch (error) {
    // The error's message may quote the secret, so it is only kept as the cause.
    throw new StoreError("REDACT_FAILED", { reason: "it threw an error" }, { cause: error });
  }
  if (typeof result !== "string") throw new StoreError("REDACT_FAILED", { reason: `it returned ${kindOf(result)}` });
  return result;
}

function kindOf(value: unknown): string {
  if (value instanceof Promise) return "a promise, not a text";
  return value === null ? "null" : `a value of type ${typeof value}`;
}
