import { lowerCodeAt } from "./word.ts";

const SLOTS_MIN = 512;

/**
 * Words, each once, in the order in which they came. A word is given as a range of a text, and no string is made of it.
 * Words that differ in the case of ASCII letters only are the same.
 *
 * Open addressing with linear probing (Knuth, "The Art of Computer Programming" 3, 6.4, algorithm L), at most half full.
 */
export class WordTable {
  /** By hash: 1 + the index of a word; 0 where there is none. */
  #slots = new Int32Array(SLOTS_MIN);
  readonly #words: { hash: number; source: string; start: number; end: number }[] = [];

  get size(): number {
    return this.#words.length;
  }

  /** FNV-1a of a word, over UTF-16 units: 32 bits, signed. */
  hashAt(index: number): number {
    return this.#words[index]!.hash;
  }

  /** @returns the word's index, or -1. */
  indexOf(source: string, start: number, end: number): number {
    return this.#slots[this.#slotOf(fnv1a(source, start, end), source, start, end)]! - 1;
  }

  /** @returns the word's index, from now on if it is new. */
  add(source: string, start: number, end: number): number {
    const hash = fnv1a(source, start, end);
    const slot = this.#slotOf(hash, source, start, end);
    const known = this.#slots[slot]! - 1;
    if (known !== -1) return known;
    const index = this.#words.push({ hash, source, start, end }) - 1;
    this.#slots[slot] = index + 1;
    if (2 * this.#words.length > this.#slots.length) this.#grow();
    return index;
  }

  /** The slot that holds the word, or the empty one where it belongs. */
  #slotOf(hash: number, source: string, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot]! - 1;
      if (index === -1) return slot;
      const word = this.#words[index]!;
      if (word.hash === hash && isSame(word, source, start, end)) return slot;
    }
  }

  #grow(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    this.#words.forEach(({ hash }, index) => {
      let slot = hash & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = index + 1;
    });
    this.#slots = slots;
  }
}

function isSame(
  word: { source: string; start: number; end: number },
  source: string,
  start: number,
  end: number,
): boolean {
  if (word.end - word.start !== end - start) return false;
  for (let offset = end - start - 1; offset >= 0; offset--) {
    if (lowerCodeAt(word.source, word.start + offset) !== lowerCodeAt(source, start + offset)) return false;
  }
  return true;
}

/** FNV-1a (Fowler, Noll, Vo) over UTF-16 units, 32 bits. */
function fnv1a(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ lowerCodeAt(text, index), 0x01000193);
  return hash;
}
