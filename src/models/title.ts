import type { Role } from "../core/message.ts";
import { filesIn } from "../core/working-set.ts";
import { evenlySpaced, labelOf } from "./label.ts";
import { weightsIn } from "./same-matter.ts";
import { TITLE_CHARS_MAX, titleLines } from "./title-lines.ts";

export interface TitledMessage {
  role: Role;
  text: string;
}

/** A title reads this many characters of each message. There are few, because an append waits for the title. */
export const TITLE_TEXT_CHARS = 500;
const MESSAGES_MAX = 24;
const FILES_MAX = 3;

/** The first request started the work. */
const FIRST_FACTOR = 1.6;
/** For the request that began the turn, if the messages have none of their own. */
const TURN_FACTOR = 0.7;
/** A line whose words weigh less, such as `Double check again`, could be about anything. */
const TELLING_WEIGHT = 1.2;
/** Without this, the longest line would have the most words. */
const LENGTH_CHARS = 20;

/** Enough for all open clusters of a session, in about 5 MB. */
const READINGS_KEPT_MAX = 1_024;

/**
 * Returns a title for messages in their own words, of at most `TITLE_CHARS_MAX` characters: what a person asked, or else a commit,
 * a task, a decision, an intention or the description of a call. Among such lines it takes the one whose words occur most in the
 * messages. Without such lines, it names files, or else words. It is "" if there are none.
 *
 * @param asked  The user's message that began the turn of the first message.
 */
export function titleOf(messages: readonly TitledMessage[], asked?: string): string {
  const said = messages.filter(({ role }) => role !== "tool");
  const readings = evenlySpaced(said, MESSAGES_MAX).map(readingOf);
  const first = readings.find(({ isRequest }) => isRequest);
  const counts = wordCounts(readings);
  let title = "";
  let scoreMax = 0;
  const consider = ({ lines }: Reading, factor: number): void => {
    for (const line of lines) {
      const score = factor * scoreOf(line, counts);
      if (score > scoreMax) [title, scoreMax] = [line.text, score];
    }
  };
  for (const reading of readings) consider(reading, reading === first ? FIRST_FACTOR : 1);
  if (first === undefined && asked !== undefined) consider(readingOf({ role: "user", text: asked }), TURN_FACTOR);
  return (
    title || listThatFits(mostNamedFiles(said)) || listThatFits(labelOf(messages.map(({ text }) => text)).split(", "))
  );
}

/** Returns the title that has most words in common with the others; "" if there is none. */
export function titleAmong(titles: readonly string[]): string {
  const lines = titles.map((text) => ({ text, value: 1, words: weightsIn(text) }));
  const counts = wordCounts(lines);
  let best = { text: "", score: 0 };
  for (const line of lines) {
    const score = scoreOf(line, counts);
    if (score > best.score) best = { text: line.text, score };
  }
  return best.text || (titles[0] ?? "");
}

function wordCounts(texts: readonly { words: ReadonlyMap<string, number> }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { words } of texts) for (const word of words.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function scoreOf({ text, value, words }: Line, counts: ReadonlyMap<string, number>): number {
  let total = 0;
  let common = 0;
  for (const [word, weight] of words) {
    total += weight;
    const count = counts.get(word);
    if (count !== undefined) common += (Math.sqrt(count) - 0.5) * weight;
  }
  return (value * common * Math.min(1, total / TELLING_WEIGHT)) / Math.sqrt(LENGTH_CHARS + text.length);
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

interface Line {
  text: string;
  value: number;
  words: ReadonlyMap<string, number>;
}

interface Reading {
  /** The weight of each word. */
  words: ReadonlyMap<string, number>;
  /** Lines that may be the title. */
  lines: readonly Line[];
  isRequest: boolean;
}

/** The keys are roles and texts. The least recently used is first. */
const readingsKept = new Map<string, Reading>();

function readingOf({ role, text }: TitledMessage): Reading {
  const beginning = text.slice(0, TITLE_TEXT_CHARS);
  const key = `${role} ${beginning}`;
  const reading = readingsKept.get(key) ?? read(role, beginning);
  readingsKept.delete(key);
  readingsKept.set(key, reading);
  if (readingsKept.size > READINGS_KEPT_MAX) readingsKept.delete(readingsKept.keys().next().value!);
  return reading;
}

function read(role: Role, text: string): Reading {
  const lines = titleLines(role, text).map((line) => ({ ...line, words: weightsIn(line.text) }));
  return { words: weightsIn(text), lines, isRequest: role === "user" && lines.length > 0 };
}
