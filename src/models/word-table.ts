const SLOTS_MIN = 512;

/**
 * A set of words, indexed in the order in which they were added. Each word is a range of a text, so that no string is built. The
 * case of ASCII letters is ignored. Open addressing with linear probing (Knuth, "The Art of Computer Programming" 3, 6.4,
 * algorithm L), at most half full.
 */
export class WordTable {
  /** By hash: 1 + the index of a word, or 0 for an empty slot. */
  #slots = new Int32Array(SLOTS_MIN);
  #size = 0;
  // Each of these lists has an entry for each word, at its index.
  readonly #hashes: number[] = [];
  readonly #sources: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  get size(): number {
    return this.#size;
  }

  /** Empties the table, which takes less time than to make another. */
  clear(): void {
    if (this.#slots.length === SLOTS_MIN) this.#slots.fill(0);
    else this.#slots = new Int32Array(SLOTS_MIN);
    this.#size = 0;
    this.#sources.length = 0;
  }

  /** Returns the hash of the word at an index: 32 bits, signed. */
  hashAt(index: number): number {
    return this.#hashes[index]!;
  }

  /** Returns the index of a word, or -1 if the word is not in the table. */
  indexOf(source: string, start: number, end: number): number {
    return this.#slots[this.#slotOf(fnv1a(source, start, end), source, start, end)]! - 1;
  }

  /** Adds a word if it is new, and returns its index. */
  add(source: string, start: number, end: number): number {
    const hash = fnv1a(source, start, end);
    const slot = this.#slotOf(hash, source, start, end);
    const known = this.#slots[slot]! - 1;
    if (known !== -1) return known;
    const index = this.#size++;
    this.#hashes[index] = hash;
    this.#sources[index] = source;
    this.#starts[index] = start;
    this.#ends[index] = end;
    this.#slots[slot] = index + 1;
    if (2 * this.#size > this.#slots.length) this.#grow();
    return index;
  }

  /** Returns the slot of the word, or the empty slot where it belongs. */
  #slotOf(hash: number, source: string, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot]! - 1;
      if (index === -1) return slot;
      if (this.#hashes[index] === hash && this.#isAt(index, source, start, end)) return slot;
    }
  }

  #isAt(index: number, source: string, start: number, end: number): boolean {
    const from = this.#starts[index]!;
    if (this.#ends[index]! - from !== end - start) return false;
    const known = this.#sources[index]!;
    for (let offset = end - start - 1; offset >= 0; offset--) {
      if (lowerCodeAt(known, from + offset) !== lowerCodeAt(source, start + offset)) return false;
    }
    return true;
  }

  #grow(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let index = 0; index < this.#size; index++) {
      let slot = this.#hashes[index]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = index + 1;
    }
    this.#slots = slots;
  }
}

/** Returns the UTF-16 unit at `index`, an ASCII letter in lower case. Lowering the whole text would take longer. */
export function lowerCodeAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

/** FNV-1a (Fowler, Noll, Vo) over UTF-16 units, in 32 bits. */
function fnv1a(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ lowerCodeAt(text, index), 0x01000193);
  return hash;
}
