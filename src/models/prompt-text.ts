import { StoreError } from "../core/errors.ts";
import { element, escapeText } from "../core/markup.ts";
import { excerpt } from "./excerpt.ts";
import { oneLine, plainText } from "./lines.ts";

const PLAIN: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };

/** What a text may say to the outside: takes one text, returns it without what must not leave the machine. */
export type Redact = (text: string) => string;

/**
 * Characters that nobody sees: direction marks, zero-width spaces, soft hyphens, tags. A text can hide a second one in
 * them, which a model reads and a person does not. Joiners stay: emoji and Indic scripts are written with them.
 */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Joiners and variation selectors between characters of ASCII: no script is written so, and they would split a word unseen. */
const SPLITTING = /(?<=[!-~])(?:\u034f|\u200c|\u200d|[\ufe00-\ufe0f])+(?=[!-~])/g;

/**
 * A text as it enters a prompt, before it is escaped: without terminal escapes, control and invisible characters, redacted, and
 * cut to 8,000 characters from its beginning and end.
 *
 * The hook sees it whole, so that no secret is cut in half and missed: as it was written, and again as it will be sent where
 * that differs, since a color code within a secret hides it, and taking the code out would put it together.
 *
 * @throws {StoreError} `REDACT_FAILED`.
 */
export function promptText(text: string, redact: Redact | undefined): string {
  const written = redacted(text, redact);
  const seen = visible(written);
  return excerpt(seen === written ? seen : visible(redacted(seen, redact)));
}

/** The one way in which foreign text enters a prompt: an element that it cannot end, with attributes it cannot leave. */
export function promptElement(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  text: string,
): string {
  return element(name, attributes, `\n${escapeText(text)}\n`);
}

/** A text that came out of a model, on one line: without what nobody sees, and with what it copied escaped as it was. */
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
    // Its message stays in the cause: it may quote the very text that was not to leave.
    throw new StoreError("REDACT_FAILED", { reason: "it threw an error" }, { cause: error });
  }
  if (typeof result !== "string") throw new StoreError("REDACT_FAILED", { reason: `it returned ${kindOf(result)}` });
  return result;
}

function kindOf(value: unknown): string {
  if (value instanceof Promise) return "a promise, and has to answer at once";
  return value === null ? "null" : `a value of type ${typeof value}`;
}
