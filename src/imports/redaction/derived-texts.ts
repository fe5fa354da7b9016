import { Redactor } from "./redact.ts";
import { mapStrings } from "./strings.ts";

/** A shorter beginning is also that of words. */
const BEGINNING_CHARS = 8;
const TAGS = /<\/?private>/gi;
/** What follows a text that was cut. */
const CUT = /^\s*(?:…|\.{3}|$)/;

/**
 * Redacts texts, and what was made of them. A title, a label or a quote may hold a secret without the words that tell it, or only its
 * beginning. So the secrets that were found in whole texts are replaced there, too, and what begins like one and was cut.
 */
export class DerivedRedactor {
  readonly #redactor = new Redactor({ keepSecrets: false, onSecret: (secret) => this.#keep(secret) });
  /** The lines of the secrets that were found, by their beginnings. All are in lower case. */
  readonly #found = new Map<string, Set<string>>();
  #beginnings: RegExp | undefined;

  /** Redacts a value with whole texts, such as a message. */
  whole<T>(value: T): T {
    return this.#redactor.redacted(value);
  }

  /** Redacts what was made of texts that `whole` was given before. */
  derived<T>(value: T): T {
    return mapStrings(this.#redactor.redacted(value), (text) => this.#withoutFound(text));
  }

  #keep(secret: string): void {
    for (const line of secret.replace(TAGS, "").toLowerCase().split("\n")) {
      const own = line.trim();
      if (own.length < BEGINNING_CHARS) continue;
      const beginning = own.slice(0, BEGINNING_CHARS);
      if (!this.#found.has(beginning)) this.#beginnings = undefined;
      this.#found.set(beginning, (this.#found.get(beginning) ?? new Set()).add(own));
    }
  }

  #withoutFound(text: string): string {
    if (this.#found.size === 0) return text;
    this.#beginnings ??= new RegExp([...this.#found.keys()].map(escaped).join("|"), "gi");
    let result = "";
    let end = 0;
    for (const { 0: beginning, index } of text.matchAll(this.#beginnings)) {
      const length = Math.max(...[...this.#found.get(beginning.toLowerCase())!].map((one) => shown(text, index, one)));
      if (index < end || length === 0) continue;
      result += `${text.slice(end, index)}[secret]`;
      end = index + length;
    }
    return result + text.slice(end);
  }
}

/** Counts the characters at an index that are a secret in lower case, or the beginning of one before a cut; 0 if they are neither. */
function shown(text: string, index: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text[index + length]?.toLowerCase() === secret[length]) length += 1;
  return length === secret.length || CUT.test(text.slice(index + length, index + length + 8)) ? length : 0;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
