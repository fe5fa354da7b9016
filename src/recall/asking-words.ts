import { searchStem } from "../models/search-words.ts";

/** The weight of a word of asking, relative to a word that names a subject. */
const ASKING_WEIGHT = 0.55;

/**
 * Words with which people ask about a conversation. They are not stop words, because "a list of orders" names a subject. In a
 * small store they are as rare as any other word, so their rarity says nothing.
 */
const ASKING_WORDS = `
  ask answer question tell talk chat mention conversation discuss remember recall
  list describe explain summarize summary overview show provide include suggest recommend compare
  decide decision look plan find help
  different various aspect step approach total exactly currently recently previously throughout
`;

const ASKING_STEMS: ReadonlySet<string> = new Set(ASKING_WORDS.trim().split(/\s+/).map(searchStem));

/** Returns the factor for the weight of a word of a query. */
export function askingWeight(stem: string): number {
  return ASKING_STEMS.has(stem) ? ASKING_WEIGHT : 1;
}
