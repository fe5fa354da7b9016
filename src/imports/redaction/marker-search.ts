/** A literal, and what must stand right after it. */
export interface Marker {
  literal: string;
  /** A sticky pattern; undefined if the literal is enough. */
  follows?: RegExp | undefined;
}

const CHUNK_CHARS = 1 << 14;
const BYTES = 256;

/**
 * Finds out which of many markers a text has, in one pass: an automaton of Aho and Corasick ("Efficient string matching", CACM 18(6),
 * 1975). A regular expression would try each of the literals at each character.
 */
export class MarkerSearch {
  /** The next state, by state and byte. */
  readonly #next: Uint16Array;
  /** For each state, an index into `#ending`; 0 if no literal ends there. */
  readonly #endings: Uint16Array;
  readonly #ending: (readonly Marker[])[] = [[]];

  /** @param markers  Their literals are ASCII. */
  constructor(markers: readonly Marker[]) {
    const children: Map<number, number>[] = [new Map()];
    const own: Marker[][] = [[]];
    for (const marker of markers) {
      let state = 0;
      for (const byte of Buffer.from(marker.literal)) {
        let child = children[state]!.get(byte);
        if (child === undefined) {
          child = children.push(new Map()) - 1;
          own.push([]);
          children[state]!.set(byte, child);
        }
        state = child;
      }
      own[state]!.push(marker);
    }
    this.#next = new Uint16Array(children.length * BYTES);
    this.#endings = new Uint16Array(children.length);
    // A text that leaves a literal may be inside another one. The fallback of a state is the state of the longest such beginning. The
    // queue goes from short to long, so the row of a fallback is complete before it is copied.
    const fallback = new Uint16Array(children.length);
    const queue = [0];
    for (const state of queue) {
      const back = fallback[state]!;
      this.#next.copyWithin(state * BYTES, back * BYTES, (back + 1) * BYTES);
      if (state !== 0) own[state]!.push(...own[back]!);
      if (own[state]!.length > 0) this.#endings[state] = this.#ending.push(own[state]!) - 1;
      for (const [byte, child] of children[state]!) {
        fallback[child] = state === 0 ? 0 : this.#next[state * BYTES + byte]!;
        this.#next[state * BYTES + byte] = child;
        queue.push(child);
      }
    }
  }

  markersIn(text: string): ReadonlySet<Marker> {
    const next = this.#next;
    const endings = this.#endings;
    const bytes = BUFFER;
    let found = NONE;
    let state = 0;
    for (let start = 0; start < text.length; start += CHUNK_CHARS) {
      // Only the lower bytes of characters are compared, so `isAt` looks whether a literal is there.
      const length = bytes.write(text.length <= CHUNK_CHARS ? text : text.slice(start, start + CHUNK_CHARS), "latin1");
      for (let index = 0; index < length; index++) {
        state = next[(state << 8) | bytes[index]!]!;
        if (endings[state] === 0) continue;
        for (const marker of this.#ending[endings[state]!]!) {
          if (found.has(marker) || !isAt(marker, text, start + index + 1)) continue;
          if (found === NONE) found = new Set();
          found.add(marker);
        }
      }
    }
    return found;
  }
}

const NONE = new Set<Marker>();
const BUFFER = Buffer.alloc(CHUNK_CHARS);

function isAt({ literal, follows }: Marker, text: string, end: number): boolean {
  if (!text.startsWith(literal, end - literal.length)) return false;
  if (follows === undefined) return true;
  follows.lastIndex = end;
  return follows.test(text);
}
