import { StoreError } from "../core/errors.ts";
import { type TimeRange, withoutRelativeTimes } from "../core/named-times.ts";
import { once } from "../core/once.ts";
import { isQuestion } from "../core/question.ts";
import { forEachSearchWord, searchStem, searchWords } from "../models/search-words.ts";
import { asCompared, type Phrase, phraseOf } from "./phrase.ts";
import { isQuotation, QUOTED } from "./quotation.ts";

/** The most distinct words of a query that are looked up, at 10 µs each. A text of 100 KB has about as many. */
export const QUERY_WORDS_MAX = 16_384;

/** The most phrases of a query. Words in later quotes are ordinary words. */
const PHRASES_MAX = 16;

/** A longer query without words is no name. */
const SHORT_NAME_CHARS_MAX = 12;

/** The weight of a word of `ASKING_WORDS`, relative to any other word. */
const ASKING_WEIGHT = 0.55;

/**
 * Words with which people ask about a conversation. They are not stop words, because "list" in "a list of orders" matters. In a
 * small store they can be rare, so BM25 alone would weigh them too high.
 */
const ASKING_WORDS = `
  ask answer question tell talk chat mention conversation discuss remember recall
  list describe explain summarize summary overview show provide include suggest recommend compare
  decide decision look plan find help
  different various aspect step approach total exactly currently recently previously throughout
`;

const askingStems = once(() => new Set(ASKING_WORDS.trim().split(/\s+/).map(searchStem)));

export interface Query {
  text: string;
  /** One word of each stem, in order. Stop words are left out, unless there are no other words. */
  words: readonly QueryWord[];
  phrases: readonly Phrase[];
  /** Messages near this time count more. */
  near?: TimeRange;
}

export interface QueryWord {
  word: string;
  stem: string;
  count: number;
  isQuoted: boolean;
  /** The word that was typed, if no message has it and this one is searched instead. */
  typed?: string;
  /** The stem of the name that it is a piece of, such as `github` of `hub`, unless it was typed alone, too. */
  pieceOf?: string;
}

/** Returns true if a question has quotes, such as a question about a title. Its answer need not have the title. */
export function isQuotingQuestion({ text, phrases }: Query): boolean {
  return phrases.length > 0 && isQuestion(text) && !isQuotation(text);
}

/** Parses a query. Only pairs of double quotes are operators; a short name without a word is a phrase. @throws {StoreError} `QUERY_EMPTY` for a text of white space. */
export function parseQuery(text: string): Query {
  if (!/\S/.test(text)) throw new StoreError("QUERY_EMPTY", {});
  const quoted = isShortName(text) ? [text.trim()] : quotedIn(text);
  const quotedStems = new Set(quoted.flatMap((phrase) => searchWords(phrase).map(searchStem)));
  const words = new Map<string, QueryWord>();
  const content = contentOf(text);
  const names = pieceNames(content);
  for (const word of searchWords(content)) {
    const stem = searchStem(word);
    const known = words.get(stem);
    const pieceOf = names.get(stem);
    if (known !== undefined) known.count += 1;
    else if (words.size < QUERY_WORDS_MAX) {
      words.set(stem, {
        word,
        stem,
        count: 1,
        isQuoted: quotedStems.has(stem),
        ...(pieceOf !== undefined && { pieceOf }),
      });
    }
  }
  return { text, words: [...words.values()], phrases: quoted.map(phraseOf) };
}

/** Returns the stem of the name for each piece of one. The base name of a path is a piece of the path, and has pieces itself. */
function pieceNames(text: string): Map<string, string> {
  const names = new Map<string, string>();
  const alone = new Set<string>();
  let [name, isNamed] = ["", false];
  forEachSearchWord(text, (word, kind) => {
    const stem = searchStem(word);
    const isPiece = kind === "piece" || (kind === "whole" && isNamed);
    if (isPiece && stem !== name && !names.has(stem)) names.set(stem, name);
    else if (!isPiece) alone.add(stem);
    if (kind === "whole") name = stem;
    isNamed = kind === "whole";
  });
  for (const stem of alone) names.delete(stem);
  return names;
}

/** Returns true for one name or sign that has no word of the index, such as `C++`, `Go` or `&&`. It is searched as it is written. */
function isShortName(text: string): boolean {
  const name = text.trim();
  return name.length <= SHORT_NAME_CHARS_MAX && !/[\s"]/.test(name) && !hasSearchWords(name);
}

function hasSearchWords(text: string): boolean {
  let isFound = false;
  forEachSearchWord(text, () => {
    isFound = true;
  });
  return isFound;
}

/** Returns the text without the words that only name a time, as in "last week", unless they are quoted or there are no others. */
function contentOf(text: string): string {
  const content = text
    .split(/("[^"]*")/)
    .map((piece, index) => (index % 2 === 1 ? piece : withoutRelativeTimes(piece)))
    .join("");
  return hasSearchWords(content) ? content : text;
}

function quotedIn(text: string): string[] {
  const phrases = new Map<string, string>();
  for (const [, phrase] of text.matchAll(QUOTED)) {
    const compared = asCompared(phrase!);
    if (compared !== "" && !phrases.has(compared)) phrases.set(compared, phrase!);
    if (phrases.size === PHRASES_MAX) break;
  }
  return [...phrases.values()];
}

export function askingWeight(stem: string): number {
  return askingStems().has(stem) ? ASKING_WEIGHT : 1;
}
