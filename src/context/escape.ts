import { cutAtGrapheme } from "../core/text.ts";

/** Characters (UTF-16 units) of an attribute before escaping. Titles and names are a few words; ids may be 512. */
const ATTRIBUTE_CHARS_MAX = 512;

/**
 * Text that can stand inside an element and not end it, or pass for another.
 *
 * One pass, so that `&` is escaped once. Newlines and tabs survive, as code needs them (`\r\n` becomes `\n`). Other
 * control characters become their visible pictures, since some models and terminals act on the invisible ones; what
 * has no picture, lone surrogates too, becomes U+FFFD.
 */
export function escapeText(text: string): string {
  return text.replace(/\r\n|[&<>\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/gu, (character) => {
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
        const code = character.charCodeAt(0);
        return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
      }
    }
  });
}

/** An element; without `content`, an empty one. `content` is escaped by the caller, or is made of elements. */
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

/** One line, of bounded length, without quotes that could end it. */
function escapeAttribute(text: string): string {
  const line = cutAtGrapheme(text, ATTRIBUTE_CHARS_MAX).replace(/\s+/g, " ").trim();
  return escapeText(line).replaceAll('"', "&quot;");
}
