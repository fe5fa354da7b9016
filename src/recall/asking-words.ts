import { searchStem } from "../models/search-words.ts";

/** What a word of asking is worth beside a word about the matter. */
const ASKING_WEIGHT = 0.55;

/**
 * Words with which people ask and point at a conversation, rather than name what it was about. They are no stop words: "a
 * list of orders" is a matter. But in a small store they are as rare as any other word, so rarity does not tell.
 */
const ASKING_WORDS = `
  ask answer question tell talk chat mention conversation discuss remember recall
  list describe explain summarize summary overview show provide include suggest recommend compare
  decide decision look plan find help
  different various aspect step approach total exactly currently recently previously throughout
`;

const ASKING_STEMS: ReadonlySet<string> = new Set(ASKING_WORDS.trim().split(/\s+/).map(searchStem));

/** By which the weight of a word of a query is multiplied. */
export function askingWeight(stem: string): number {
  return ASKING_STEMS.has(stem) ? ASKING_WEIGHT : 1;
}
