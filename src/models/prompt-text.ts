import { StoreError } from "../core/errors.ts";
import { element, escapeText } from "../core/markup.ts";
import { excerpt, oneLine, plainText } from "./lines.ts";

const PLAIN: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };

/** Returns a text without anything that must not leave the machine. */
export type Redact = (text: string) => string;

/**
 * Invisible characters: direction marks, zero-width spaces, soft hyphens, tags. They can hide a text that a model reads and a
 * person does not see. Joiners stay, because emoji and Indic scripts need them.
 */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Joiners and variation selectors between ASCII characters. No script uses them there, and they would split a word invisibly. */
const SPLITTING = /(?<=[!-~])(?:\u034f|\u200c|\u200d|[\ufe00-\ufe0f])+(?=[!-~])/g;

/**
 * Prepares a text for a prompt: redacts it, removes terminal escapes, control and invisible characters, and cuts it to 8,000
 * characters from both ends. It is not escaped yet.
 *
 * `redact` gets the whole text, so that no secret is cut in half and missed. If cleaning changes the text, `redact` gets it
 * again: a color code inside a secret would hide it from the first call.
 *
 * @throws {StoreError} `REDACT_FAILED`.
 */
export function promptText(text: string, redact: Redact | undefined): string {
  const written = redacted(text, redact);
  const seen = visible(written);
  return excerpt(seen === written ? seen : visible(redacted(seen, redact)));
}

/** Wraps foreign text in an element that it cannot close. All foreign text in a prompt must go through here. */
export function promptElement(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  text: string,
): string {
  return element(name, attributes, `\n${escapeText(text)}\n`);
}

/** Returns a model's text on one line, without invisible characters, and with copied entities unescaped. */
export function replyLine(text: string): string {
  const line = text.replace(INVISIBLE, "").replace(/&(?:lt|gt|amp|quot);/g, (entity) => PLAIN[entity]!);
  return oneLine(line);
}

function visible(text: string): string {
  return plainText(text).replace(INVISIBLE, "").replace(SPLITTING, "");
}

/** @throws {StoreError} `REDACT_FAILED`. */
export function redacted(text: string, redact: Redact | undefined): string {
  if (redact === undefined) return text;
  let result: unknown;
  try {
    result = redact(text);
  } catch (error) {
    // The error's message may quote the secret, so only the cause holds it.
    throw new StoreError("REDACT_FAILED", { reason: "it threw an error" }, { cause: error });
  }
  if (typeof result !== "string") throw new StoreError("REDACT_FAILED", { reason: `it returned ${kindOf(result)}` });
  return result;
}

function kindOf(value: unknown): string {
  if (value instanceof Promise) return "a promise, and has to answer at once";
  return value === null ? "null" : `a value of type ${typeof value}`;
}
