import { isSameMatter, weightsIn } from "../models/same-matter.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { sentencesOf } from "../models/sentences.ts";
import type { Placed } from "./ranking.ts";

/** This many of the best messages are compared with each other. */
const COMPARED_MAX = 10;
/** The newer sentence must have this share of the query's words in the older one, by their weight. */
const SHARE_MIN = 0.8;
/** A sentence with less of the query's words is about something else. */
const ASKED_MIN = 0.5;

/** A longer sentence tells of several things. */
const SENTENCE_CHARS_MAX = 180;

/** Words of a sentence that changes what was said before. "Now let me look" is none. */
const CHANGE =
  /(?<!\bright )\bnow\b(?! let\b)|\b(?:instead of|no longer|any ?more|switch(?:ed|es|ing)? (?:\S+ ){0,6}?to|mov(?:ed?|es|ing) (?:\S+ ){0,6}?to|chang(?:ed?|es|ing)|replac(?:ed?|es|ing)|renam(?:ed?|es|ing)|migrat(?:ed?|es|ing)|revert(?:ed|s|ing)?|updat(?:ed?|es|ing) (?:\S+ ){0,6}?to|from \S+(?: \S+){0,3} to|rather than|dropped|as of)\b/i;

/** A sentence in which an agent tells what it sees or does next states nothing that holds. */
const PROCESS =
  /^(?:(?:ok(?:ay)?|good|great|perfect|excellent|yes|sure|wait|first)\b\W*)*(?:now|next|i see|i'?ll|i will|i need|i'?m|i am|let me|looking|found)\b/i;

const SAME_WORK_MS = 86_400_000;

/** Two sentences that say the same with different values have at most this many different words each. */
const OWN_WORDS_MAX = 3;

/** Questions about how it was. */
const ASKS_FOR_PAST =
  /\b(?:first|originally|initially|before|earlier|previous(?:ly)?|used to|at first|back then|history|old)\b/i;

interface Told {
  placed: Placed;
  sentence: string;
  /** The words of the query in the sentence. */
  stems: ReadonlySet<string>;
}

/**
 * Yields a ranking in which a message comes after a newer one that says something else of the same: the newer one takes its place.
 * Two of the best messages say something of the same if their best sentences have the same words of the query, and the newer sentence
 * either speaks of a change, or has most of its words in common with the older one.
 *
 * @param snippetOf  Returns the part of a message that has most of the query's words.
 * @param replaced  Gets the ids of the older messages, each with the id of the newest that replaces it.
 */
export function* newestFirst(
  ranking: Iterable<Placed>,
  query: string,
  weights: ReadonlyMap<string, number>,
  snippetOf: (messageId: number) => string,
  replaced: Map<number, number>,
): Generator<Placed> {
  const iterator = ranking[Symbol.iterator]();
  const first: Placed[] = [];
  while (first.length < COMPARED_MAX) {
    const { done, value } = iterator.next();
    if (done) break;
    first.push(value);
  }
  if (first.length > 1 && !ASKS_FOR_PAST.test(query)) reorder(first, weights, snippetOf, replaced);
  yield* first;
  for (let next = iterator.next(); !next.done; next = iterator.next()) yield next.value;
}

function reorder(
  first: Placed[],
  weights: ReadonlyMap<string, number>,
  snippetOf: (messageId: number) => string,
  replaced: Map<number, number>,
): void {
  const told = first.map((placed) => toldIn(placed, weights, snippetOf));
  for (let at = 0; at < told.length; at++) {
    const older = told[at];
    if (older === undefined) continue;
    let newest: number | undefined;
    for (let other = 0; other < told.length; other++) {
      const newer = told[other];
      if (newer === undefined || other === at || !replaces(newer, older, weights)) continue;
      if (newest === undefined || isNewer(newer.placed, told[newest]!.placed)) newest = other;
    }
    if (newest === undefined) continue;
    replaced.set(older.placed.candidate.messageId, told[newest]!.placed.candidate.messageId);
    if (newest < at) continue;
    first.splice(at, 0, ...first.splice(newest, 1).map((placed) => raised(placed, first[at]!)));
    told.splice(at, 0, ...told.splice(newest, 1));
  }
}

/** Returns a message with the score of another one, so that scores fall from hit to hit. What it gains is for its time. */
function raised(placed: Placed, to: Placed): Placed {
  const gain = to.score - placed.score;
  if (gain <= 0) return placed;
  return { ...placed, score: to.score, parts: { ...placed.parts, time: placed.parts.time + gain } };
}

/** Returns the sentence of a message that has most of the query's words; undefined if it asks, or has few of them. */
function toldIn(
  placed: Placed,
  weights: ReadonlyMap<string, number>,
  snippetOf: (messageId: number) => string,
): Told | undefined {
  // People who talk with each other say the same in other words, and change nothing by it.
  if (placed.candidate.speaker === "tool" || placed.candidate.name !== null) return undefined;
  let best: Told | undefined;
  for (const { text, kind } of sentencesOf(snippetOf(placed.candidate.messageId))) {
    if (kind !== "prose" || text.endsWith("?") || text.length > SENTENCE_CHARS_MAX) continue;
    if (placed.candidate.speaker === "assistant" && PROCESS.test(text)) continue;
    const stems = new Set(
      searchWords(text)
        .map(searchStem)
        .filter((stem) => weights.has(stem)),
    );
    if (best === undefined || weightOf(stems, weights) > weightOf(best.stems, weights))
      best = { placed, sentence: text, stems };
  }
  return best !== undefined && weightOf(best.stems, weights) >= ASKED_MIN * weightOf(weights.keys(), weights)
    ? best
    : undefined;
}

function replaces(newer: Told, older: Told, weights: ReadonlyMap<string, number>): boolean {
  if (!isNewer(newer.placed, older.placed) || newer.sentence === older.sentence) return false;
  const shared = [...older.stems].filter((stem) => newer.stems.has(stem));
  if (weightOf(shared, weights) < SHARE_MIN * weightOf(older.stems, weights)) return false;
  const [candidate, before] = [newer.placed.candidate, older.placed.candidate];
  const isSameWork =
    candidate.sessionId === before.sessionId && candidate.createdAtMs - before.createdAtMs < SAME_WORK_MS;
  // An agent that goes on with its work changes nothing by it.
  if (candidate.speaker === "assistant" && isSameWork) return false;
  if (CHANGE.test(newer.sentence)) return true;
  // An assistant often repeats what a user has said.
  if (candidate.speaker === "assistant" && before.speaker === "user") return false;
  const [newerWords, olderWords] = [valuesIn(newer.sentence), valuesIn(older.sentence)];
  const common = [...olderWords].filter((word) => newerWords.has(word));
  const own = [newerWords.size - common.length, olderWords.size - common.length];
  return isSameMatter(newer.sentence, older.sentence) && own.every((count) => count > 0 && count <= OWN_WORDS_MAX);
}

/** Returns the words of a sentence that tell what it is about, and its numbers. */
function valuesIn(sentence: string): Set<string> {
  return new Set([...weightsIn(sentence).keys(), ...(sentence.match(/\d+(?:[.:]\d+)*/g) ?? [])]);
}

function isNewer({ candidate: one }: Placed, { candidate: other }: Placed): boolean {
  return one.createdAtMs > other.createdAtMs || (one.sessionId === other.sessionId && one.seq > other.seq);
}

function weightOf(stems: Iterable<string>, weights: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const stem of stems) sum += weights.get(stem) ?? 0;
  return sum;
}
