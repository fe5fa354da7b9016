import { Redactor } from "./redact.ts";
import { mapStrings } from "./strings.ts";

/** A shorter beginning is also that of words. */
const BEGINNING_CHARS = 8;
const TAGS = /<\/?private>/gi;
/** Matches what stands behind a text that was cut: an ellipsis, or the end of a line. */
const CUT = /^[ \t]*(?:[\r\n…]|\.{3}|$)/;
const CUT_CHARS = 16;

/**
 * Redacts texts, and what was made of them. A title, a label or a quote may hold a secret without the words that tell it, or only one
 * end of it. So the secrets that were found in whole texts are replaced there, too, and so are their ends beside a cut.
 */
export class DerivedRedactor {
  readonly #redactor = new Redactor({ keepSecrets: false, onSecret: (secret) => this.#keep(secret) });
  readonly #found = new Beginnings();
  readonly #foundReversed = new Beginnings();

  /** Redacts a value with whole texts, such as a message. */
  whole<T>(value: T): T {
    return this.#redactor.redacted(value);
  }

  /** Redacts what was made of texts that `whole` was given before. */
  derived<T>(value: T): T {
    return mapStrings(this.#redactor.redacted(value), (text) => {
      if (text.length < BEGINNING_CHARS) return text;
      return reversed(this.#foundReversed.replaced(reversed(this.#found.replaced(text, "[secret]")), "]terces["));
    });
  }

  #keep(secret: string): void {
    for (const line of secret.replace(TAGS, "").toLowerCase().split("\n")) {
      this.#found.add(line.trim());
      this.#foundReversed.add(reversed(line.trim()));
    }
  }
}

/** Finds texts, and the beginnings of those that were cut. The letter case is not regarded. */
class Beginnings {
  readonly #texts = new Map<string, Set<string>>();
  #pattern: RegExp | undefined;

  /** @param text  In lower case. */
  add(text: string): void {
    if (text.length < BEGINNING_CHARS) return;
    const beginning = text.slice(0, BEGINNING_CHARS);
    if (!this.#texts.has(beginning)) this.#pattern = undefined;
    this.#texts.set(beginning, (this.#texts.get(beginning) ?? new Set()).add(text));
  }

  replaced(text: string, placeholder: string): string {
    if (this.#texts.size === 0) return text;
    this.#pattern ??= new RegExp([...this.#texts.keys()].map(escaped).join("|"), "gi");
    let result = "";
    let end = 0;
    for (const { 0: beginning, index } of text.matchAll(this.#pattern)) {
      const known = this.#texts.get(beginning.toLowerCase()) ?? [];
      const length = Math.max(0, ...[...known].map((one) => shownLength(text, index, one)));
      if (index < end || length === 0) continue;
      result += text.slice(end, index) + placeholder;
      end = index + length;
    }
    return result + text.slice(end);
  }
}

/** Counts the characters at an index that are a text in lower case, or its beginning before a cut; 0 if they are neither. */
function shownLength(text: string, index: number, whole: string): number {
  let length = 0;
  while (length < whole.length && text[index + length]?.toLowerCase() === whole[length]) length += 1;
  const after = text.slice(index + length, index + length + CUT_CHARS);
  return length === whole.length || CUT.test(after) ? length : 0;
}

function reversed(text: string): string {
  return text.split("").reverse().join("");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
