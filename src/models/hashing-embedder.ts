import { isUsable, normalize } from "../vector/vector.ts";
import type { LocalEmbedder } from "./embedder.ts";
import { isPluralOfY, stem, stemEnd } from "./stem.ts";
import { WordTable } from "./word-table.ts";
import { forEachWordRange } from "./words.ts";

const DIMENSION = 384;
const BLOCKS = 4;
const BLOCK_LENGTH = DIMENSION / BLOCKS;

/** The stems of the text that is being embedded. */
const TERMS = new WordTable();

/** Longer runs are split here. Elsewhere they count as data, such as hashes. */
const ANY_WORD = /[\p{L}\p{M}\p{N}]{1,40}/gu;

/**
 * The default embedder. It is local, has no state, and gives the same bits on every machine.
 *
 * It uses feature hashing (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009). Each stemmed
 * word adds the square root of its count, with a sign, at four indexes given by its hash, one in each quarter of the vector (the
 * block construction of Kane and Nelson, "Sparser Johnson–Lindenstrauss Transforms", J. ACM 61(1), 2014). In search tests, four
 * indexes instead of one had the effect of a third more dimensions.
 *
 * All words have the same weight. Weights by length, by kind and from a list of common words changed nothing in tests. Weights
 * by document counts would make a vector depend on the messages before it.
 */
export const hashingEmbedder: LocalEmbedder = {
  id: `hashing-v1-${DIMENSION}`,
  dimension: DIMENSION,
  similarityMin: 0.35,
  isLexical: true,

  embed(text) {
    TERMS.clear();
    const terms = TERMS;
    const counts: number[] = [];
    forEachWordRange(text, (source, start, end) => {
      const term = addStem(terms, source, start, end);
      counts[term] = (counts[term] ?? 0) + 1;
    });
    // A text of stop words only, such as "ok", still gets a vector.
    if (terms.size === 0) for (const word of text.match(ANY_WORD) ?? []) counts[addWord(terms, word.toLowerCase())] = 1;
    const vector = new Float32Array(DIMENSION);
    for (let term = 0; term < counts.length; term++) addTerm(vector, terms.hashAt(term), Math.sqrt(counts[term]!));
    // Words with opposite signs may cancel each other out. A zero vector has no direction.
    return isUsable(vector) ? normalize(vector) : undefined;
  },
};

function addStem(terms: WordTable, source: string, start: number, end: number): number {
  if (isPluralOfY(source, start, end)) return addWord(terms, stem(source.slice(start, end).toLowerCase()));
  return terms.add(source, start, stemEnd(source, start, end));
}

function addWord(terms: WordTable, word: string): number {
  return terms.add(word, 0, word.length);
}

function addTerm(vector: Float32Array, hashOfTerm: number, weight: number): void {
  let hash = hashOfTerm;
  for (let block = 0; block < BLOCKS; block++) {
    hash = mix(hash + 0x9e3779b9);
    const index = block * BLOCK_LENGTH + ((hash >>> 1) % BLOCK_LENGTH);
    vector[index] = vector[index]! + ((hash & 1) === 0 ? weight : -weight);
  }
}

/** The finalizer of MurmurHash3: each bit of the input changes about half of the output bits. */
function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
