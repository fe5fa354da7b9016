import { markedParts } from "../importers/injected.ts";
import { forEachSearchWord, searchStem } from "../models/search-words.ts";
import type { NotableMessage, QuickReader } from "../store/index.ts";

/** Only the beginning and the end of a long prompt are searched, because its middle is usually a pasted log. */
const PROMPT_CHARS_MAX = 3_000;
const PROMPT_END_CHARS = 800;

/** The most distinct words of a prompt that are looked up. */
const WORDS_MAX = 120;
/** The most words that are searched, the rarest first, and the most entries of the index that are read for them. */
const TERMS_MAX = 24;
const POSTINGS_MAX = 12_000;
/** The most messages that are read. */
const READ_MAX = 60;

/**
 * A message with less surprise is not near. With this value, one prompt in ten finds something in the other sessions of its
 * project. A prompt about something else does so in one case of two hundred: see `bench -- hook`.
 */
const SURPRISE_MIN = 3.5;

/** The surprise that a shared identifier adds. Whoever writes it means the same thing, so it is rarely shared by chance. */
const NAME_SURPRISE = 3;
const NAME = /[_./\\:$]|[a-z]-[a-z].*-/;

/** A project counts as having this many more messages, of which a few hold each word. Otherwise no word of a small project is rare. */
const IMAGINED_MESSAGES = 2_000;
const IMAGINED_HOLDERS = 3;

/** The length of an average message, in characters. A longer message is more likely to hold any given word. */
const MEAN_CHARS = 400;

/** A message that is probably about the same thing as a prompt. */
export interface NearMessage {
  message: NotableMessage;
  /** How unlikely it is that a message shares these words with the prompt by chance, as a natural logarithm. */
  surprise: number;
  /** The weights of the shared words, by stem. */
  weights: ReadonlyMap<string, number>;
}

interface Word {
  stem: string;
  isName: boolean;
}

interface Term extends Word {
  /** The share of the project's messages that hold it. */
  share: number;
  messageIds: ReadonlySet<number>;
}

/**
 * Finds the messages of users and assistants in a project that are near a prompt, nearest first. There may be none.
 *
 * A message is near if it shares so many rare words with the prompt that this is unlikely to be chance. If words were
 * independent, the probability that a message holds a certain set of them would be the product of their shares. Any message
 * could match with any set of that size, so the product is multiplied by the number of messages and by the number of such sets.
 * The surprise is the negative logarithm of the result.
 */
export function nearMessages(
  reader: QuickReader,
  project: string,
  prompt: string,
  isExcluded: (message: NotableMessage) => boolean,
): NearMessage[] {
  const words = wordsOf(saidIn(prompt));
  if (words.length === 0) return [];
  const { terms, messageCount } = termsOf(reader, words, project);
  const scores = new Map<number, number>();
  for (const { share, messageIds } of terms) {
    for (const id of messageIds) scores.set(id, (scores.get(id) ?? 0) - Math.log(share));
  }
  const best = [...scores].sort(([leftId, left], [rightId, right]) => right - left || rightId - leftId);
  const near: NearMessage[] = [];
  for (const message of reader.saidIn(
    project,
    best.slice(0, READ_MAX).map(([id]) => id),
  )) {
    if (isExcluded(message)) continue;
    const found = terms.filter(({ messageIds }) => messageIds.has(message.id));
    const surprise =
      surpriseOf(found, message) -
      Math.log(messageCount) -
      logOfChoices(Math.max(words.length, terms.length), found.length);
    if (surprise < SURPRISE_MIN) continue;
    near.push({ message, surprise, weights: new Map(found.map(({ stem, share }) => [stem, -Math.log(share)])) });
  }
  return near.sort((left, right) => right.surprise - left.surprise || right.message.id - left.message.id);
}

/** Returns what the user typed. Some agents put the output of earlier hooks before it. */
function saidIn(prompt: string): string {
  const parts = markedParts([{ type: "text", text: prompt }]);
  const said = parts.flatMap((part) => (part.type === "text" && part.injected !== true ? [part.text] : [])).join("\n");
  if (said.length <= PROMPT_CHARS_MAX) return said;
  return `${said.slice(0, PROMPT_CHARS_MAX - PROMPT_END_CHARS)}\n${said.slice(-PROMPT_END_CHARS)}`;
}

/** Returns the words of a text. An identifier is one word, and its pieces are not returned. */
function wordsOf(text: string): Word[] {
  const words = new Map<string, Word>();
  forEachSearchWord(text, (word, kind) => {
    if (words.size === WORDS_MAX || kind === "piece") return;
    const stem = searchStem(word);
    words.set(stem, { stem, isName: kind === "whole" && NAME.test(word) });
  });
  return [...words.values()];
}

/** Returns the rarest of the words that occur in the project, and the number of its messages, with the imagined ones. */
function termsOf(
  reader: QuickReader,
  words: readonly Word[],
  project: string,
): { terms: Term[]; messageCount: number } {
  const sessions = reader.spans(project);
  const messageCount = sessions.reduce((sum, [first, last]) => sum + last - first + 1, IMAGINED_MESSAGES);
  const tail = reader
    .tail(project)
    .map(({ id, text }) => ({ id, stems: new Set(wordsOf(text).map(({ stem }) => stem)) }));
  const counted = words.map((word) => ({ ...word, count: reader.frequencyOf(word.stem) }));
  counted.sort((left, right) => left.count - right.count);
  const terms: Term[] = [];
  let postings = 0;
  for (const { count, ...word } of counted) {
    postings += count;
    if (terms.length === TERMS_MAX || postings > POSTINGS_MAX) break;
    const indexed = count === 0 ? [] : reader.occurrences(word.stem);
    const messageIds = new Set(indexed.filter((id) => isWithin(sessions, id)));
    for (const { id, stems } of tail) if (stems.has(word.stem)) messageIds.add(id);
    if (messageIds.size === 0) continue;
    terms.push({ ...word, share: (messageIds.size + IMAGINED_HOLDERS) / messageCount, messageIds });
  }
  return { terms, messageCount };
}

/** Returns true if the id is in one of the spans, which are in order. */
function isWithin(spans: readonly (readonly [first: number, last: number])[], id: number): boolean {
  let [from, to] = [0, spans.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (spans[middle]![0] <= id) from = middle + 1;
    else to = middle;
  }
  return from > 0 && id <= spans[from - 1]![1];
}

function surpriseOf(found: readonly Term[], { text }: NotableMessage): number {
  const length = Math.max(1, text.length / MEAN_CHARS);
  return found.reduce(
    (sum, { share, isName }) => sum - Math.log(Math.min(1, share * length)) + (isName ? NAME_SURPRISE : 0),
    0,
  );
}

/** Returns the logarithm of the number of ways to choose `chosen` of `count` things. */
function logOfChoices(count: number, chosen: number): number {
  let log = 0;
  for (let index = 1; index <= chosen; index++) log += Math.log((count - chosen + index) / index);
  return log;
}
