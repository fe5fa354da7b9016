import { WordTable } from "./word-table.ts";

/** English function words, contractions without their apostrophe, and small talk. */
export const STOP_WORDS: readonly string[] = `
  a about above actually after again against ain all almost already also although always am an and another any anyone
  anything are aren around as at away back be became because become been before being below between both but by came can
  cannot cant come could couldn did didn do does doesn doing don done dont down during each either else enough etc even
  ever every everything few for from further gave get gets getting give given go goes going gone got gotten had hadn has
  hasn have haven having he hello hence her here hers herself hey hi him himself his hmm how however if im in indeed
  instead into is isn it its itself ive just keep kind know lets like ll lot made make makes many may maybe me mean might
  mine more most much must my myself need needs neither never no nobody none nor not nothing now of off oh ok okay on
  once one ones only onto or other others our ours ourselves out over own perhaps please pretty probably put quite rather
  re really right said same saw say says see seem seems seen shall she should shouldn since so some somehow someone
  something sometimes soon still such sure take takes than thank thanks that thats the their theirs them themselves then
  there therefore these they thing things think this those though through thus to together too toward try trying two un
  under until up upon us use used using usually ve very via want wants was wasn way we well went were weren what whatever
  when where whether which while who whole whom whose why will with within without won would wouldn yeah yep yes yet you
  your yours yourself
  `
  .trim()
  .split(/\s+/);

const TABLE = new WordTable();
for (const word of STOP_WORDS) TABLE.add(word, 0, word.length);
const CHARS_MAX = Math.max(...STOP_WORDS.map(({ length }) => length));

export function isStopWord(text: string, start = 0, end = text.length): boolean {
  return end - start <= CHARS_MAX && TABLE.indexOf(text, start, end) !== -1;
}
