import { cutAtGrapheme } from "./text.ts";

/** Characters (UTF-16 units) of an attribute before escaping. Titles and names are a few words; ids may be 512. */
const ATTRIBUTE_CHARS_MAX = 512;

const REORDERING_OR_TAG = /^[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]$/u;

/** Matches what must be replaced, and flags such as Scotland's, whose tag characters stay. */
const UNSAFE =
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{2,6}\u{e007f}|\r\n|[&<>\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * Escapes text for the inside of an element, so that it can neither end the element nor look like another one.
 *
 * It works in one pass, so that `&` is escaped once. Newlines and tabs stay, because code needs them (`\r\n` becomes `\n`).
 * Other control characters become their visible pictures, because some models and terminals act on the invisible ones.
 * Characters without a picture, and lone surrogates, become U+FFFD.
 *
 * Characters that reverse the reading order (Boucher and Anderson, *Trojan Source*, 2021), and tag characters, which spell text
 * that only a model sees, are named: `[U+202E]`. Joiners stay, because emoji and Persian need them. So do marks that only affect
 * their neighbors, and the tags of a flag.
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
        if (REORDERING_OR_TAG.test(character)) return `[U+${code.toString(16).toUpperCase()}]`;
        return character.length > 2 ? character : "\ufffd";
      }
    }
  });
}

/** Escapes text for JSON, like `escapeText`, but keeps `&`, `<` and `>`. */
export function visibleText(text: string): string {
  return text.replace(UNSAFE, (character) => (/^[&<>]$/.test(character) ? character : escapeText(character)));
}

/** Returns an element. The caller escapes `content`, or makes it of elements; without it, the element is empty. */
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

/** Returns one line of bounded length, without quotes that could end the attribute. */
function escapeAttribute(text: string): string {
  const line = cutAtGrapheme(text, ATTRIBUTE_CHARS_MAX).replace(/\s+/g, " ").trim();
  return escapeText(line).replaceAll('"', "&quot;");
}
