import { cutAtGrapheme } from "./text.ts";

/** Characters (UTF-16 units) of an attribute before escaping. Titles and names are a few words; ids may be 512. */
const ATTRIBUTE_CHARS_MAX = 512;

const REORDERING_OR_TAG = /^[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]$/u;

/** Matches characters that must be replaced. It also matches flags such as Scotland's, whose tag characters stay. */
const UNSAFE =
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{2,6}\u{e007f}|\r\n|[&<>\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * Escapes text for the inside of an element, so that it cannot end the element or look like one.
 *
 * Newlines and tabs stay, because code needs them (`\r\n` becomes `\n`). Some models and terminals act on other control
 * characters, so each is replaced by its symbol, such as `␡`, or by U+FFFD if it has none. Lone surrogates also become U+FFFD.
 *
 * Some characters are written as their code, `[U+202E]`: those that reverse the reading order (Boucher and Anderson, *Trojan
 * Source*, 2021), and tag characters, which only a model sees. Joiners stay, because emoji and Persian need them.
 */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => {
    switch (character) {
      case "&":
        return "&amp;";
      case "<":
        return "&lt;";
      case ">":
        return "&gt;";
      case "\r\n":
        return "\n";
      case "\x7f":
        return "␡";
      default: {
        const code = character.codePointAt(0)!;
        if (code < 0x20) return String.fromCharCode(0x2400 + code);
        if (REORDERING_OR_TAG.test(character)) return codeOf(character);
        return character.length > 2 ? character : "\ufffd";
      }
    }
  });
}

/** Replaces the characters that `escapeText` replaces, except `&`, `<` and `>`. */
export function visibleText(text: string): string {
  return text.replace(UNSAFE, (character) => (/^[&<>]$/.test(character) ? character : escapeText(character)));
}

/** `escapeText` keeps these marks of direction. They can disguise an id or a command that a person copies. */
const DIRECTION_MARK = /[\u061c\u200e\u200f]/g;

/**
 * Replaces the characters that a terminal would act on, and direction marks. A stored text may hold escape sequences that move
 * the cursor or write to the clipboard. Line feeds and tabs stay. All output to a terminal goes through this function.
 */
export function printable(text: string): string {
  return visibleText(text).replace(DIRECTION_MARK, codeOf);
}

const UNSAFE_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/** Writes JSON. Characters that `printable` would replace are escaped, so that a reader of the JSON gets them back. */
export function printableJson(value: unknown): string {
  const escaped = (character: string): string =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join("");
  return JSON.stringify(value).replace(UNSAFE_IN_JSON, escaped);
}

function codeOf(character: string): string {
  return `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
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
