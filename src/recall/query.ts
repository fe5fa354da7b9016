import { StoreError } from "../core/errors.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { asCompared, type Phrase, phraseOf } from "./phrase.ts";

/** Distinct words of a query that are looked up, the first ones, at 10 µs each: as many as 100 KB may have. */
const WORDS_MAX = 16_384;

/** Phrases that a query may ask for; what is quoted after them is words like others. */
const PHRASES_MAX = 16;

const QUOTED = /"([^"]*)"/g;

/** What a text asks for. */
export interface Query {
  /** Those that tell, or all of them where none does; one of each stem, in order. */
  words: readonly QueryWord[];
  phrases: readonly Phrase[];
}

export interface QueryWord {
  word: string;
  stem: string;
  /** Times that it, or another word of its stem, is in the query. */
  count: number;
  isQuoted: boolean;
}

/**
 * Take any text as a query. Nothing in it is an operator but double quotes in pairs.
 *
 * @throws {StoreError} `QUERY_EMPTY` where there is nothing but white space.
 */
export function parseQuery(text: string): Query {
  if (!/\S/.test(text)) throw new StoreError("QUERY_EMPTY", {});
  const quoted = quotedIn(text);
  const quotedStems = new Set(quoted.flatMap((phrase) => searchWords(phrase).map(searchStem)));
  const words = new Map<string, QueryWord>();
  for (const word of searchWords(text)) {
    const stem = searchStem(word);
    const known = words.get(stem);
    if (known !== undefined) known.count += 1;
    else if (words.size < WORDS_MAX) words.set(stem, { word, stem, count: 1, isQuoted: quotedStems.has(stem) });
  }
  return { words: [...words.values()], phrases: quoted.map(phraseOf) };
}

/** What stands in double quotes, as it was written. */
function quotedIn(text: string): string[] {
  const phrases = new Map<string, string>();
  for (const [, phrase] of text.matchAll(QUOTED)) {
    const compared = asCompared(phrase!);
    if (compared !== "" && !phrases.has(compared)) phrases.set(compared, phrase!);
    if (phrases.size === PHRASES_MAX) break;
  }
  return [...phrases.values()];
}
