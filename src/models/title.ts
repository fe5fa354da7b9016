import { TITLE_CHARS_MAX, titledEnds } from "../core/ends.ts";
import { ownWords } from "../core/harness.ts";
import type { Role } from "../core/message.ts";
import { filesIn } from "../core/working-set.ts";
import { evenlySpaced, labelOf } from "./label.ts";
import { cutLine, oneLine } from "./lines.ts";
import { isSameMatter, weightsIn } from "./same-matter.ts";
import {
  firstSentence,
  INTENDED_VALUE,
  NOTED_VALUE,
  outcomesIn,
  type TitleLine,
  TOLD_VALUE,
  titleLines,
  withoutCut,
} from "./title-lines.ts";
import { words } from "./words.ts";

export interface TitledMessage {
  role: Role;
  text: string;
}

/** Only this many characters of each message are read for a title, because an append waits for it. */
export const TITLE_TEXT_CHARS = 500;
const MESSAGES_MAX = 24;
const USER_MESSAGES_MAX = 8;
const FILES_MAX = 3;

/** The first request started the work. */
const FIRST_FACTOR = 1.6;
/** The factor for the request that began the turn. It counts only if the messages have no request of their own. */
const TURN_FACTOR = 0.7;
/** The factor for what was committed or planned, beside a request. */
const NAMED_FACTOR = 0.6;
/** A line whose words weigh less, such as `Double check again`, could be about anything. */
const TELLING_WEIGHT = 1.2;
/** A session is named by the first line that has this share of the best line's score, because a request mostly begins with its matter. */
const EARLIER_SHARE = 3 / 4;
const NAME_WEIGHT_MAX = 1;
/** A name that all of the work has, such as that of the project, counts no more than one that this many messages have. */
const COUNT_MAX = 6;
/** Without this, the longest line would have the most words. */
const LENGTH_CHARS = 20;
/** What became of a request is told behind it if there is so much room. */
const OUTCOME_CHARS_MIN = 12;
const NO_WORDS = "Without words";

/**
 * Returns a title for messages, in their own words and of at most `TITLE_CHARS_MAX` characters, which ends with a whole word: what a user
 * wanted, and what became of it if both have room. Requests are preferred whose words occur in many of the messages. Without a request, it
 * is a commit, a task or a decision, or else lists files or words.
 *
 * The lines of a message are kept as long as the message object, so each message is read once.
 *
 * @param asked  The user's message that began the turn of the first message.
 */
export function titleOf(messages: readonly TitledMessage[], asked?: TitledMessage): string {
  return titleBy(knownReadingOf, messages, asked);
}

const TAG = /<\/?[a-z][\w:.-]*(?:\s[^<>]*)?\/?>/gi;

/**
 * Returns the title that a session has, or else the line of its first request that says most of what it is about. If none says
 * anything, it is the beginning of the request, without tags and line ends. Only a title may have more than `TITLE_CHARS_MAX` characters.
 */
export function titleOfSession(title: string | null, request: string | null): string | null {
  if (title || !request) return title || null;
  const lines = linesOf({ role: "user", text: beginningOf(request) });
  const counts = wordCounts(lines, [new Set(lines.flatMap(({ words }) => [...words.keys()]))]);
  const scores = lines.map((line) => scoreOf(line, counts));
  const scoreMin = EARLIER_SHARE * Math.max(...scores);
  const best = lines.find((_, index) => scores[index]! > 0 && scores[index]! >= scoreMin);
  return best?.text || cutLine(oneLine(request.slice(0, TITLE_TEXT_CHARS).replace(TAG, " ")), TITLE_CHARS_MAX) || null;
}

function titleBy(
  readingOf: (message: TitledMessage) => Reading,
  messages: readonly TitledMessage[],
  asked: TitledMessage | undefined,
): string {
  const said = titledEnds(messages).filter(({ role }) => role !== "tool");
  const outcomes = outcomesOf(said);
  const chosen = sampleOf(said).map(readingOf);
  const wanted = bestLine(chosen, asked === undefined ? undefined : readingOf(asked), outcomes);
  if (wanted !== "") return withOutcome(withoutCut(wanted), outcomes, chosen);
  const own = messages.map(({ role, text }) => ({
    role,
    text: role === "user" || role === "system" ? ownWords(text.slice(0, TITLE_TEXT_CHARS)) : text,
  }));
  const title =
    listThatFits(mostNamedFiles(own.filter(({ role }) => role !== "tool"))) ||
    firstSaid(said) ||
    listThatFits(labelOf(own.map(({ text }) => text.replace(TAG, " "))).split(", "));
  return withoutCut(title) || NO_WORDS;
}

/** Returns messages to read, in order. Those of users are chosen apart, because they are few in long work and say what was wanted. */
function sampleOf(said: readonly TitledMessage[]): TitledMessage[] {
  const byUser = said.filter(({ role }) => role === "user");
  const others = said.filter(({ role }) => role !== "user");
  const sample = new Set([...evenlySpaced(byUser, USER_MESSAGES_MAX), ...evenlySpaced(others, MESSAGES_MAX)]);
  return said.filter((message) => sample.has(message));
}

/** Returns what came out, newest first, if a user wanted it. */
function outcomesOf(said: readonly TitledMessage[]): Line[] {
  if (!said.some(({ role }) => role === "user" || role === "system")) return [];
  return said
    .slice(-MESSAGES_MAX)
    .filter(({ role }) => role === "assistant")
    .toReversed()
    .flatMap(({ text }) => outcomesIn(beginningOf(text)).map(withWords));
}

/** Adds what tells most of the work and has room: what came out, or what was committed or planned. */
function withOutcome(wanted: string, outcomes: readonly Line[], chosen: readonly Reading[]): string {
  const room = TITLE_CHARS_MAX - wanted.length - ": ".length;
  if (room < OUTCOME_CHARS_MIN || outcomes.some(({ text }) => text === wanted)) return wanted;
  const fits = ({ text }: Line): boolean =>
    text.length <= room && !text.endsWith("…") && !isSameMatter(text, wanted) && text !== wanted;
  const known = weightsIn(wanted);
  const lines = [...outcomes, ...chosen.flatMap(({ named }) => named)].filter(fits);
  const fresh = lines.map((line) => ({
    ...line,
    words: new Map([...line.words].filter(([word]) => !known.has(word))),
  }));
  const outcome = bestOf([{ lines: fresh, factor: 1 }], chosen) || lines[0]?.text;
  if (outcome === undefined) return wanted;
  return `${wanted.replace(/[.!:]$/, "")}: ${/^\p{Lu}\p{Ll}/u.test(outcome) ? outcome[0]!.toLowerCase() + outcome.slice(1) : outcome}`;
}

function bestLine(chosen: readonly Reading[], asked: Reading | undefined, outcomes: readonly Line[]): string {
  const first = chosen.find(({ isRequest }) => isRequest);
  const turn = first === undefined ? asked : undefined;
  const hasUser = chosen.some(({ byUser }) => byUser);
  // Marks such as `yes` share no words with the request, so its lines are compared with the request itself, too.
  const counted = turn !== undefined && hasUser ? [...chosen, turn] : chosen;
  const best = (candidates: readonly Candidate[]): string => bestOf(candidates, counted);
  const requests: Candidate[] = chosen
    .filter(({ byUser, isTask }) => byUser || (isTask && !hasUser && turn === undefined))
    .map((reading) => ({ lines: reading.lines, factor: reading === first ? FIRST_FACTOR : 1 }));
  if (turn !== undefined) requests.push({ lines: turn.lines, factor: TURN_FACTOR });
  // A request such as `Fix all 5` says less than what came out of it, or what was committed or planned.
  if (requests.length > 0) requests.push({ lines: outcomes, factor: 1 });
  const naming = !hasUser ? [] : chosen.filter(({ named }) => named.length > 0);
  for (const [index, { named }] of naming.entries())
    requests.push({ lines: named, factor: NAMED_FACTOR * (index === 0 ? FIRST_FACTOR : 1) });
  const begun = hasUser && first === undefined ? chosen.find(({ intended }) => intended.length > 0) : undefined;
  if (begun !== undefined) requests.push({ lines: begun.intended, factor: NAMED_FACTOR });
  const isTold = ({ value }: Line): boolean => value >= TOLD_VALUE;
  const told = chosen.filter(({ byUser }) => !byUser).map(({ lines }) => ({ lines: lines.filter(isTold), factor: 1 }));
  return best(requests) || best(told) || best(chosen.map(({ lines }) => ({ lines, factor: 1 })));
}

interface Candidate {
  lines: readonly Line[];
  factor: number;
}

function bestOf(candidates: readonly Candidate[], counted: readonly Reading[]): string {
  const counts = wordCounts(
    candidates.flatMap(({ lines }) => lines),
    counted.map(({ words }) => words),
  );
  let title = "";
  let scoreMax = 0;
  for (const { lines, factor } of candidates) {
    for (const line of lines) {
      const score = factor * scoreOf(line, counts);
      if (score > scoreMax) [title, scoreMax] = [line.text, score];
    }
  }
  return title;
}

/** How the store makes titles of clusters: see `DeriveOptions`. It makes each once, so it keeps no lines. */
export const TITLES = {
  titleOf: (messages: readonly TitledMessage[], asked: TitledMessage | undefined) =>
    titleBy(readingOf, messages, asked),
  titleTextChars: TITLE_TEXT_CHARS,
  titleOfSession,
};

/** Returns the title that shares most words with the others; "" if there are no titles. */
export function titleAmong(titles: readonly string[]): string {
  const lines = titles.map((text) => ({ text, value: 1, words: weightsIn(text) }));
  const counts = wordCounts(
    lines,
    lines.map(({ words }) => words.keys()),
  );
  let best = { text: "", score: 0 };
  for (const line of lines) {
    const score = scoreOf(line, counts);
    if (score > best.score) best = { text: line.text, score };
  }
  return best.text || (titles[0] ?? "");
}

/** Counts the texts that have each word of the lines. A text must list each of its words only once. */
function wordCounts(lines: readonly Line[], texts: readonly Iterable<string>[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { words } of lines) for (const word of words.keys()) counts.set(word, 0);
  for (const words of texts) {
    for (const word of words) {
      const count = counts.get(word);
      if (count !== undefined) counts.set(word, count + 1);
    }
  }
  return counts;
}

function scoreOf({ text, value, words }: Line, counts: ReadonlyMap<string, number>): number {
  let total = 0;
  let common = 0;
  for (const [word, weight] of words) {
    total += weight;
    const count = counts.get(word)!;
    if (count > 0) common += (Math.sqrt(Math.min(count, COUNT_MAX)) - 0.5) * weight;
  }
  return (value * common * Math.min(1, total / TELLING_WEIGHT)) / Math.sqrt(LENGTH_CHARS + text.length);
}

function firstSaid(messages: readonly TitledMessage[]): string {
  for (const { role, text: whole } of messages.slice(0, MESSAGES_MAX)) {
    const text = whole.slice(0, TITLE_TEXT_CHARS);
    const line = titleLines(role, text)[0]?.text ?? firstSentence(text);
    if (line !== undefined) return line;
  }
  return "";
}

/** Returns the base names of the files that most messages name. */
function mostNamedFiles(messages: readonly TitledMessage[]): string[] {
  const counts = new Map<string, number>();
  for (const { text } of messages) {
    const names = filesIn(text.slice(0, TITLE_TEXT_CHARS)).map((path) => path.slice(path.lastIndexOf("/") + 1));
    for (const name of new Set(names)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .slice(0, FILES_MAX)
    .map(([name]) => name);
}

function listThatFits(names: readonly string[]): string {
  const list = names.join(", ");
  if (list.length <= TITLE_CHARS_MAX) return list;
  return names.length > 1 ? listThatFits(names.slice(0, -1)) : list.slice(0, TITLE_CHARS_MAX);
}

interface Line extends TitleLine {
  words: ReadonlyMap<string, number>;
}

interface Reading {
  byUser: boolean;
  /** True for what a program gave an agent before a user has spoken. */
  isTask: boolean;
  words: readonly string[];
  /** Lines that may be the title. */
  lines: readonly Line[];
  /** Lines in which an agent names its work: a commit, an issue that it opened, or a task. */
  named: readonly Line[];
  /** Lines in which an agent says what it is going to do. */
  intended: readonly Line[];
  /** False for a user's message that asks for nothing of its own, such as `yes`, `fix it` or `[Request interrupted by user]`. */
  isRequest: boolean;
}

const readings = new WeakMap<TitledMessage, Reading>();

function knownReadingOf(message: TitledMessage): Reading {
  const known = readings.get(message);
  if (known !== undefined) return known;
  const reading = readingOf(message);
  readings.set(message, reading);
  return reading;
}

/** Returns what is read of a text. Its last word may be cut, here or where the text was read, and `…` stands for it. */
function beginningOf(text: string): string {
  if (text.length < TITLE_TEXT_CHARS) return text;
  return text.slice(0, TITLE_TEXT_CHARS).replace(/\s+[!-~]{1,40}$/, "…");
}

function linesOf({ role, text }: TitledMessage): Line[] {
  return titleLines(role, text).map(withWords);
}

/** A line of names alone says what the work is on, and not what is wanted. */
function withWords(line: TitleLine): Line {
  const words = weightsIn(line.text);
  for (const [word, weight] of words) if (weight > NAME_WEIGHT_MAX) words.set(word, NAME_WEIGHT_MAX);
  return { ...line, words };
}

function readingOf({ role, text: whole }: TitledMessage): Reading {
  const text = beginningOf(whole);
  const lines = linesOf({ role, text });
  const byAgent = role === "assistant" ? lines : [];
  return {
    byUser: role === "user",
    isTask: role === "system",
    words: [...new Set(words(text))],
    lines,
    named: byAgent.filter(({ value }) => value > TOLD_VALUE),
    intended: byAgent.filter(({ value }) => value === INTENDED_VALUE),
    isRequest:
      role === "user" && lines.some(({ points, value, words }) => !points && value > NOTED_VALUE && words.size > 0),
  };
}
