import type { Role } from "../core/message.ts";
import { filesIn } from "../core/working-set.ts";
import { cutLine, oneLine, plainText } from "./lines.ts";
import { type Sentence, sentencesOf } from "./sentences.ts";
import { isCode, isError, isOutcome, isProse } from "./shapes.ts";
import type { SourceText } from "./summarizer.ts";

/** Something said, asked or reported that may stand in a summary as a line of its own. */
export interface Statement {
  /** Who it came from, where that is not plainly the model. */
  speaker: string | undefined;
  /** One line, as written but for white space. */
  text: string;
  /** How much it tells, above 0. */
  value: number;
  /** Share of its length that counts against it when statements compete: 1, or less for one that has stood before. */
  costFactor: number;
  /** Statements of one key are one thing at different times: the last holds. */
  key: string;
}

/**
 * What tells whoever goes on with the work: the user's words are the goal and its limits, errors and counts the state
 * of affairs; the model's prose is half narration, and most output was only read.
 */
const VALUE = { user: 3, todo: 2.5, error: 1.6, outcome: 1.3, assistant: 1, call: 0.15, report: 0.12, rest: 0.02 };
const CONCLUSION_FACTOR = { user: 1.2, assistant: 1.7 };
/** The model's last words before the user speaks again say how things stand. */
const CLOSING_FACTOR = 1.5;
const ANNOUNCEMENT_FACTOR = 0.3;
const ASIDE_FACTOR = 0.3;
/** Statements into a message after which the value is halved: the first say what the rest is about. */
const HALVING_STATEMENTS = 12;

const STATEMENTS_PER_SOURCE_MAX = 80;
const CALL_CHARS_MAX = 100;
const NAME_CHARS_MAX = 40;
const REPORT_CHARS_MIN = 60;

/** What an agent's harness adds to what was said. */
const HARNESS_TAG = /<(\/?)(system-reminder|command-message|local-command-caveat)>/g;
const TAG = /<\/?([a-zA-Z][\w-]{0,40})(?:\s[^<>]{0,200})?>/g;
const CLOSING_TAG = /<\/([a-zA-Z][\w-]{0,40})>/g;
/** Long links and encoded data are known by their beginning. */
const LONG_RUN = /(https?:\/\/\S{60})\S{20,}|([\w+/=-]{40})[\w+/=-]{160,}/gu;

const CONCLUSION =
  /\b(?:decided?|decision|agreed?|conclu\w+|root cause|because|instead of|rather than|turns? out|(?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|fixe[ds]|resolved|implemented|added|removed|renamed|moved|changed|updated|replaced|created|deleted|merged|committed|verified|pass(?:es|ed)?|fail(?:s|ed|ing)?|must|never|always|cannot|can't|don't|should|remaining|next steps?|blocked|workaround)\b/i;
const ANNOUNCEMENT =
  /^(?:now|next|ok(?:ay)?|good|great|perfect|excellent|i see|i'?ll|i will|i need|let me|let's|first|wait|sure|you'?re (?:absolutely )?right)\b/i;

const VERDICT = /\S*\d\S*|\b(?:pass(?:ed|ing)?|fail(?:ed|ing)?|succeeded|skipped|total|ok)\b|[^\p{L}\p{N}]/gu;

/** A call's name, alone on a line. */
const CALL_NAME = /^[A-Za-z][\w.:-]{1,63}$/;
const BEGINS_SENTENCE = /^\p{Lu}/u;
const TASK_STATUS = /^(?:pending|in_progress|completed|cancelled)$/;

/**
 * The statements of one message, in order.
 *
 * @param closing  True for the model's last words before someone else speaks.
 */
export function statementsOf(source: SourceText, closing: boolean): Statement[] {
  const text = withoutHarness(plainText(source.text));
  return ofRole(source.role, text, speakerOf(source), closing).slice(0, STATEMENTS_PER_SOURCE_MAX);
}

/** The first line with words of a message in which nothing is a statement, such as a listing: for want of better. */
export function firstLineOf(source: SourceText): Statement[] {
  const first = plainText(source.text)
    .split("\n")
    .find((line) => /[\p{L}\p{N}]/u.test(line));
  return first === undefined ? [] : [statement(speakerOf(source), first, VALUE.rest)];
}

/** A line of an earlier summary, as the statement it was. */
export function statementOfLine(line: string): Statement {
  const [, speaker, text] = /^(user|tool|todo|call): (.*)$/.exec(line) ?? [];
  if (text === undefined) return statement(undefined, line, VALUE.assistant * tellingOf(line));
  if (speaker === "user") return statement(speaker, text, VALUE.user);
  if (speaker === "todo") return todo(text);
  if (speaker === "call") return statement(speaker, text, VALUE.call);
  return ofOutputLine(text, speaker)[0] ?? output(speaker, text, VALUE.report);
}

/** The line by which a statement is shown. */
export function lineOf({ speaker, text }: Statement): string {
  return speaker === undefined ? text : `${speaker}: ${text}`;
}

function ofRole(role: Role, text: string, speaker: string | undefined, closing: boolean): Statement[] {
  if (role === "tool") return text.split("\n").flatMap((line) => ofOutputLine(line, speaker));
  if (role === "assistant") return ofAssistant(text, speaker, closing ? CLOSING_FACTOR : 1);
  return ofPerson(text, speaker);
}

/** Without the blocks between a harness's tags. What is never closed stays: nothing says where it ends. */
export function withoutHarness(text: string): string {
  let kept = "";
  let end = 0;
  let open: RegExpExecArray | undefined;
  for (const tag of text.matchAll(HARNESS_TAG)) {
    if (tag[1] === "") open ??= tag;
    else if (open !== undefined && tag[2] === open[2]) {
      kept += `${text.slice(end, open.index)} `;
      end = tag.index + tag[0].length;
      open = undefined;
    }
  }
  return kept + text.slice(end);
}

function speakerOf({ role, name }: SourceText): string | undefined {
  if (role === "tool") return role;
  return cutLine(oneLine(name ?? ""), NAME_CHARS_MAX) || (role === "assistant" ? undefined : role);
}

/** Without the tags that wrap something. One that nothing closes is a placeholder, and part of what was said: `backup-<host>.json`. */
function withoutTags(text: string): string {
  const closed = new Set(Array.from(text.matchAll(CLOSING_TAG), ([, name]) => name));
  return text.replace(TAG, (tag, name: string) => (closed.has(name) || tag.match(HARNESS_TAG) !== null ? " " : tag));
}

function ofPerson(text: string, speaker: string | undefined): Statement[] {
  return sentencesOf(withoutTags(text)).flatMap((sentence, index) => {
    if (sentence.kind === "code") return ofOutputLine(sentence.text, speaker);
    const telling = CONCLUSION.test(sentence.text) ? CONCLUSION_FACTOR.user : 1;
    return [statement(speaker, sentence.text, VALUE.user * telling * factorOf(sentence, index))];
  });
}

function ofAssistant(text: string, speaker: string | undefined, factor: number): Statement[] {
  const lines = text.split("\n");
  // A name alone, with something other than a list after it, begins a call: its name, then its arguments.
  const call = lines.findIndex((line, index) => CALL_NAME.test(line) && /^[^\s*#-]/.test(lines[index + 1] ?? ""));
  const prose = call < 0 ? text : lines.slice(0, call).join("\n");
  const said = sentencesOf(prose).flatMap((sentence, index) => {
    if (sentence.kind === "code" || !isProse(sentence.text)) return [];
    const telling = factor * tellingOf(sentence.text);
    return [statement(speaker, sentence.text, VALUE.assistant * telling * factorOf(sentence, index))];
  });
  return call < 0 ? said : [...said, ...ofCalls(lines.slice(call))];
}

/** Calls of one tool, one after another, are told apart by its name; of different tools, the first stands for all. */
function ofCalls(lines: readonly string[]): Statement[] {
  const starts = lines.flatMap((line, index) => (line === lines[0] ? [index] : []));
  return starts.flatMap((start, index) => ofCall(lines.slice(start, starts[index + 1])));
}

/** What a call was for: its name and first argument, and the argument that reads like a reason. */
function ofCall([name = "", first = "", ...rest]: readonly string[]): Statement[] {
  const tasks = openTasks([first, ...rest]);
  if (tasks !== undefined) return [todo(tasks.length > 0 ? tasks.join("; ") : "all done")];
  // A call on a file alone is told by the working set.
  if (first === "" || filesIn(first)[0] === first.trim()) return [];
  const call = cutLine(oneLine(`${name} ${first}`), CALL_CHARS_MAX);
  if (BEGINS_SENTENCE.test(first) && isProse(first)) return [statement("call", call, VALUE.call)];
  const reason = rest.findLast((line) => line.length < CALL_CHARS_MAX && isProse(line));
  return [statement("call", reason === undefined ? call : `${call} (${oneLine(reason)})`, VALUE.call)];
}

/** Of a list of tasks, each followed by its status, those that are left; undefined for anything else. */
function openTasks(lines: readonly string[]): string[] | undefined {
  if (!lines.some((line) => TASK_STATUS.test(line))) return undefined;
  return lines.flatMap((line, index) => {
    const status = lines[index + 1];
    if (status === "in_progress") return [`${oneLine(line)} (in progress)`];
    return status === "pending" ? [oneLine(line)] : [];
  });
}

function ofOutputLine(line: string, speaker: string | undefined): Statement[] {
  if (isCode(line)) return [];
  const text = oneLine(line);
  if (isError(text)) return [output(speaker, text, VALUE.error)];
  if (isOutcome(text)) return [outcome(speaker, text)];
  const report = text.length >= REPORT_CHARS_MIN && /[.!?。]$/.test(text) && isProse(text);
  return report ? [output(speaker, text, VALUE.report)] : [];
}

/** A line of output is the same at another time, place or speed: numbers and ids do not count. */
function output(speaker: string | undefined, text: string, value: number): Statement {
  return { ...statement(speaker, text, value), key: `output ${text.toLowerCase().replace(/\S*\d\S*/g, "0")}` };
}

/** A count or verdict is the same under another: only the last says how things stand. */
function outcome(speaker: string | undefined, text: string): Statement {
  const subject = text.toLowerCase().replace(VERDICT, " ");
  return { ...statement(speaker, text, VALUE.outcome), key: `outcome ${oneLine(subject)}` };
}

/** What is left to do, by the latest of the model's own lists. */
function todo(text: string): Statement {
  return { ...statement("todo", text, VALUE.todo), key: "todo" };
}

function statement(speaker: string | undefined, words: string, value: number): Statement {
  const text = oneLine(words).replace(LONG_RUN, "$1$2…");
  return { speaker, text, value, costFactor: 1, key: text.toLowerCase() };
}

/** The model decides, finds and reports, or says what it will do next. */
function tellingOf(text: string): number {
  if (CONCLUSION.test(text)) return CONCLUSION_FACTOR.assistant;
  return ANNOUNCEMENT.test(text) ? ANNOUNCEMENT_FACTOR : 1;
}

/** Late sentences, headings, quotes, table rows and lines that only announce others say little where they stand alone. */
function factorOf({ kind, text }: Sentence, index: number): number {
  const fading = 1 / (1 + index / HALVING_STATEMENTS);
  return kind === "prose" && !/[:：][*_]*$/.test(text) ? fading : fading * ASIDE_FACTOR;
}
