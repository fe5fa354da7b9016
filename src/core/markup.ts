import { codeOf, replaceHidden } from "./invisible.ts";
import { cutAtGrapheme } from "./text.ts";

/** Characters (UTF-16 units) of an attribute before escaping. Titles and names are a few words; ids may be 512. */
const ATTRIBUTE_CHARS_MAX = 512;

/** Controls of a terminal, except line feeds and tabs. */
const CONTROL = /\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/gu;

/**
 * Escapes text for the inside of an element, so that it cannot end the element or look like one, and replaces what
 * `visibleText` replaces.
 */
export function escapeText(text: string): string {
  return visibleText(text).replace(/[&<>]/g, (character) => ESCAPED[character]!);
}

const ESCAPED: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * Replaces what a terminal or a model would act on and a person would not see. A stored text may hold escape sequences that move
 * the cursor or write to the clipboard. All output to a terminal goes through this function.
 *
 * Newlines and tabs stay, because code needs them (`\r\n` becomes `\n`). Each other control character is replaced by its symbol,
 * such as `␡`, or by U+FFFD if it has none. Lone surrogates also become U+FFFD. Hidden characters, and those that reverse the reading
 * order (Boucher and Anderson, *Trojan Source*, 2021), are written as their code, `[U+202E]`.
 */
export function visibleText(text: string): string {
  return replaceHidden(text.replace(CONTROL, symbolOf), (character) => `[${codeOf(character)}]`);
}

function symbolOf(character: string): string {
  if (character === "\r\n") return "\n";
  if (character === "\x7f") return "␡";
  const code = character.codePointAt(0)!;
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
}

/** Writes JSON. Characters that `visibleText` would replace are escaped, so that a reader of the JSON gets them back. */
export function printableJson(value: unknown): string {
  return replaceHidden(JSON.stringify(value).replace(/[\x7f-\x9f]/g, escapedInJson), escapedInJson);
}

function escapedInJson(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Returns an element. The caller escapes `content`. Without `content` the element is empty. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  content?: string,
): string {
  let tag = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== "") tag += ` ${key}="${escapeAttribute(String(value))}"`;
  }
  return content === undefined ? `${tag}/>` : `${tag}>${content}</${name}>`;
}

function escapeAttribute(text: string): string {
  const line = cutAtGrapheme(text, ATTRIBUTE_CHARS_MAX).replace(/\s+/g, " ").trim();
  return escapeText(line).replaceAll('"', "&quot;");
}
