import { isUsable, normalize } from "../vector/vector.ts";
import type { Embedder } from "./embedder.ts";
import { stem } from "./stem.ts";
import { forEachWord } from "./words.ts";

const DIMENSION = 384;
/** Numbers that one word touches, one in each quarter of the vector. */
const BLOCKS = 4;
const BLOCK_LENGTH = DIMENSION / BLOCKS;

/** At most as long as any word that tells; longer runs are cut. */
const ANY_WORD = /[\p{L}\p{M}\p{N}]{1,40}/gu;

/**
 * The default embedder: local, free of state, and the same bits on every machine.
 *
 * Feature hashing (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009): each stemmed word
 * adds the square root of its count, with a sign, at places that its hash gives. It does so at four places, one in each
 * quarter (the block construction of Kane and Nelson, "Sparser Johnson–Lindenstrauss Transforms", J. ACM 61(1), 2014), so
 * that two words rarely collide in all of them: for finding messages that was worth as much as a third more dimensions.
 *
 * All words weigh the same. Weights by length, by kind and from a list of common words were measured and changed nothing;
 * weights from counted documents would make a vector depend on what was stored before it.
 */
export const hashingEmbedder: Embedder = {
  id: `hashing-v1-${DIMENSION}`,
  dimension: DIMENSION,
  similarityMin: 0.35,

  embed(text) {
    const counts = new Map<string, number>();
    forEachWord(text, (word) => {
      const term = stem(word);
      counts.set(term, (counts.get(term) ?? 0) + 1);
    });
    // "Do it again" and "ok" are only common words, but they are what was said.
    if (counts.size === 0) for (const word of text.match(ANY_WORD) ?? []) counts.set(word.toLowerCase(), 1);
    const vector = new Float32Array(DIMENSION);
    for (const [term, count] of counts) addTerm(vector, term, Math.sqrt(count));
    // Two words may cancel each other out: no direction is no vector.
    return isUsable(vector) ? normalize(vector) : undefined;
  },
};

function addTerm(vector: Float32Array, term: string, weight: number): void {
  let hash = fnv1a(term);
  for (let block = 0; block < BLOCKS; block++) {
    hash = mix(hash + 0x9e3779b9);
    const index = block * BLOCK_LENGTH + ((hash >>> 1) % BLOCK_LENGTH);
    vector[index] = vector[index]! + ((hash & 1) === 0 ? weight : -weight);
  }
}

/** FNV-1a over UTF-16 units, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** The finalizer of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
