import { ownWords, withoutElements } from "../core/harness.ts";
import type { Role } from "../core/message.ts";
import { filesIn } from "../core/working-set.ts";
import { cutLine, oneLine, plainText } from "./lines.ts";
import { type Sentence, sentencesOf } from "./sentences.ts";
import { isCode, isError, isOutcome, isProse } from "./shapes.ts";
import type { SourceText } from "./summarizer.ts";

/** A text that can be a line of a summary. */
export interface Statement {
  /** Undefined if the model said it. */
  speaker: string | undefined;
  /** One line, as written except for white space. */
  text: string;
  value: number;
  /** The share of the line's length that counts as its cost: 1, or less if the line was in an earlier summary. */
  costFactor: number;
  /** Names the subject of the statement. Only the last statement with a key is current. */
  key: string;
}

/**
 * The value of each kind of statement for somebody who continues the work. The user's words state the goal. Errors and counts
 * state how far the work is. Half of the model's prose is narration, and most tool output was only read.
 */
const VALUE = { user: 3, todo: 2.5, error: 1.6, outcome: 1.3, assistant: 1, call: 0.15, report: 0.12, other: 0.02 };
const CONCLUSION_FACTOR = { user: 1.2, assistant: 1.7 };
/** The model's last words before the user's next message often describe the state. */
const CLOSING_FACTOR = 1.5;
const ANNOUNCEMENT_FACTOR = 0.3;
const ASIDE_FACTOR = 0.3;
/** After this many statements of a message, the value is halved, because the first ones introduce the others. */
const HALVING_STATEMENTS = 12;

const STATEMENTS_PER_SOURCE_MAX = 80;
const CALL_CHARS_MAX = 100;
const NAME_CHARS_MAX = 40;
const REPORT_CHARS_MIN = 60;

const TAG = /<\/?([a-zA-Z][\w-]{0,40})(?:\s[^<>]{0,200})?>/g;
const CLOSING_TAG = /<\/([a-zA-Z][\w-]{0,40})>/g;
/** Only the beginning of a long link or of encoded data is kept. */
const LONG_RUN = /(https?:\/\/\S{60})\S{20,}|([\w+/=-]{40})[\w+/=-]{160,}/gu;

const CONCLUSION =
  /\b(?:decided?|decision|agreed?|conclu\w+|root cause|because|instead of|rather than|turns? out|(?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|fixe[ds]|resolved|implemented|added|removed|renamed|moved|changed|updated|replaced|created|deleted|merged|committed|verified|pass(?:es|ed)?|fail(?:s|ed|ing)?|must|never|always|cannot|can't|don't|should|remaining|next steps?|blocked|workaround)\b/i;
const ANNOUNCEMENT =
  /^(?:now|next|ok(?:ay)?|good|great|perfect|excellent|i see|i'?ll|i will|i need|let me|let's|first|wait|sure|you'?re (?:absolutely )?right)\b/i;

const VERDICT = /\S*\d\S*|\b(?:pass(?:ed|ing)?|fail(?:ed|ing)?|succeeded|skipped|total|ok)\b|[^\p{L}\p{N}]/gu;

const CALL_NAME = /^[A-Za-z][\w.:-]{1,63}$/;
const BEGINS_SENTENCE = /^\p{Lu}/u;
const TASK_STATUS = /^(?:pending|in_progress|completed|cancelled)$/;

/** Returns the statements of a message, in order. @param closing  True for the model's last words before someone else speaks. */
export function statementsOf(source: SourceText, closing: boolean): Statement[] {
  const text = withoutHarness(source);
  return statementsByRole(source.role, text, speakerOf(source), closing).slice(0, STATEMENTS_PER_SOURCE_MAX);
}

/** Returns the first line with words. It stands for a message without statements, such as a listing. */
export function firstLineOf(source: SourceText): Statement[] {
  const first = plainText(source.text)
    .split("\n")
    .find((line) => /[\p{L}\p{N}]/u.test(line));
  return first === undefined ? [] : [statement(speakerOf(source), first, VALUE.other)];
}

export function statementOfLine(line: string): Statement {
  const [, speaker, text] = /^(user|tool|todo|call): (.*)$/.exec(line) ?? [];
  if (text === undefined) return statement(undefined, line, VALUE.assistant * tellingOf(line));
  if (speaker === "user") return statement(speaker, text, VALUE.user);
  if (speaker === "todo") return todo(text);
  if (speaker === "call") return statement(speaker, text, VALUE.call);
  return statementsOfOutputLine(text, speaker)[0] ?? output(speaker, text, VALUE.report);
}

export function lineOf({ speaker, text }: Statement): string {
  return speaker === undefined ? text : `${speaker}: ${text}`;
}

function statementsByRole(role: Role, text: string, speaker: string | undefined, closing: boolean): Statement[] {
  if (role === "tool") return text.split("\n").flatMap((line) => statementsOfOutputLine(line, speaker));
  if (role === "assistant") return statementsOfAssistant(text, speaker, closing ? CLOSING_FACTOR : 1);
  return statementsOfPerson(text, speaker);
}

/** Returns a message's text without what an agent's program wrote into it. */
function withoutHarness({ role, text }: SourceText): string {
  return role === "user" ? ownWords(plainText(text)) : withoutElements(plainText(text));
}

function speakerOf({ role, name }: SourceText): string | undefined {
  if (role === "tool") return role;
  return cutLine(oneLine(name ?? ""), NAME_CHARS_MAX) || (role === "assistant" ? undefined : role);
}

/** Removes tags that have a closing tag. Other tags are placeholders in the text: `backup-<host>.json`. */
function withoutTags(text: string): string {
  const closed = new Set(Array.from(text.matchAll(CLOSING_TAG), ([, name]) => name));
  return text.replace(TAG, (tag, name: string) => (closed.has(name) ? " " : tag));
}

function statementsOfPerson(text: string, speaker: string | undefined): Statement[] {
  return sentencesOf(withoutTags(text)).flatMap((sentence, index) => {
    if (sentence.kind === "code") return statementsOfOutputLine(sentence.text, speaker);
    const telling = CONCLUSION.test(sentence.text) ? CONCLUSION_FACTOR.user : 1;
    return [statement(speaker, sentence.text, VALUE.user * telling * factorOf(sentence, index))];
  });
}

/** Splits a text of the model into what it says and the lines of its calls. The first of these lines is a call's name. */
export function proseAndCalls(text: string): { prose: string; calls: string[] } {
  const lines = text.split("\n");
  // A call starts with its name alone on a line, and its arguments follow. If a list follows, the line is not a call.
  const call = lines.findIndex((line, index) => CALL_NAME.test(line) && /^[^\s*#-]/.test(lines[index + 1] ?? ""));
  return call < 0 ? { prose: text, calls: [] } : { prose: lines.slice(0, call).join("\n"), calls: lines.slice(call) };
}

function statementsOfAssistant(text: string, speaker: string | undefined, factor: number): Statement[] {
  const { prose, calls } = proseAndCalls(text);
  const said = sentencesOf(prose).flatMap((sentence, index) => {
    if (sentence.kind === "code" || !isProse(sentence.text)) return [];
    const telling = factor * tellingOf(sentence.text);
    return [statement(speaker, sentence.text, VALUE.assistant * telling * factorOf(sentence, index))];
  });
  return [...said, ...statementsOfCalls(calls)];
}

/** Returns the open tasks of the task list in a text of the model; undefined if there is no list. */
export function openTasksIn(text: string): string[] | undefined {
  return openTasks(proseAndCalls(text).calls.slice(1));
}

/** Splits consecutive calls of the same tool at the tool's name. If the tools differ, the first call stands for all. */
function statementsOfCalls(lines: readonly string[]): Statement[] {
  const starts = lines.flatMap((line, index) => (line === lines[0] ? [index] : []));
  return starts.flatMap((start, index) => statementsOfCall(lines.slice(start, starts[index + 1])));
}

/** Describes a call by its name, its first argument, and the argument that reads like a reason. */
function statementsOfCall([name = "", first = "", ...rest]: readonly string[]): Statement[] {
  const tasks = openTasks([first, ...rest]);
  if (tasks !== undefined) return [todo(tasks.length > 0 ? tasks.join("; ") : "all done")];
  // If a file is the only argument, the list of files is enough.
  if (first === "" || filesIn(first)[0] === first.trim()) return [];
  const call = cutLine(oneLine(`${name} ${first}`), CALL_CHARS_MAX);
  if (BEGINS_SENTENCE.test(first) && isProse(first)) return [statement("call", call, VALUE.call)];
  const reason = rest.findLast((line) => line.length < CALL_CHARS_MAX && isProse(line));
  return [statement("call", reason === undefined ? call : `${call} (${oneLine(reason)})`, VALUE.call)];
}

/** Returns the open tasks of a task list, in which each task is followed by its status. Returns undefined for other lines. */
export function openTasks(lines: readonly string[]): string[] | undefined {
  if (!lines.some((line) => TASK_STATUS.test(line))) return undefined;
  return lines.flatMap((line, index) => {
    const status = lines[index + 1];
    if (status === "in_progress") return [`${oneLine(line)} (in progress)`];
    return status === "pending" ? [oneLine(line)] : [];
  });
}

function statementsOfOutputLine(line: string, speaker: string | undefined): Statement[] {
  if (isCode(line)) return [];
  const text = oneLine(line);
  if (isError(text)) return [output(speaker, text, VALUE.error)];
  if (isOutcome(text)) return [outcome(speaker, text)];
  const report = text.length >= REPORT_CHARS_MIN && /[.!?。]$/.test(text) && isProse(text);
  return report ? [output(speaker, text, VALUE.report)] : [];
}

/** The key ignores numbers and ids, so the line of a later run has the same key. */
function output(speaker: string | undefined, text: string, value: number): Statement {
  return { ...statement(speaker, text, value), key: `output ${text.toLowerCase().replace(/\S*\d\S*/g, "0")}` };
}

/** The key ignores the verdict, so only the last verdict is current. */
function outcome(speaker: string | undefined, text: string): Statement {
  const subject = text.toLowerCase().replace(VERDICT, " ");
  return { ...statement(speaker, text, VALUE.outcome), key: `outcome ${oneLine(subject)}` };
}

function todo(text: string): Statement {
  return { ...statement("todo", text, VALUE.todo), key: "todo" };
}

function statement(speaker: string | undefined, words: string, value: number): Statement {
  const text = oneLine(words).replace(LONG_RUN, "$1$2…");
  return { speaker, text, value, costFactor: 1, key: text.toLowerCase() };
}

function tellingOf(text: string): number {
  if (CONCLUSION.test(text)) return CONCLUSION_FACTOR.assistant;
  return ANNOUNCEMENT.test(text) ? ANNOUNCEMENT_FACTOR : 1;
}

/** Lowers the value of late sentences, headings, quotes, table rows and lines that announce others. */
function factorOf({ kind, text }: Sentence, index: number): number {
  const fading = 1 / (1 + index / HALVING_STATEMENTS);
  return kind === "prose" && !/[:：][*_]*$/.test(text) ? fading : fading * ASIDE_FACTOR;
}
