import { isInjected } from "../core/injected.ts";
import type { JsonValue, Part, Role, ToolCallPart, ToolResultPart } from "../core/message.ts";
import type { Notes } from "../core/notes.ts";
import { filesIn } from "../core/working-set.ts";
import { isRefusal } from "./actions.ts";
import { cutLine, excerpt, oneLine, plainText } from "./lines.ts";
import { sentencesOf } from "./sentences.ts";
import { isCode, isError, isOutcome, isProse } from "./shapes.ts";
import { withoutHarness } from "./statements.ts";

/** If a message is longer, only its beginning and its end are read. */
const NOTED_CHARS_MAX = 1_500;
const NOTED_END_CHARS = 500;

const REQUEST_CHARS_MIN = 10; // "yes" and "continue" do not describe the work
const REQUEST_CHARS_MAX = 300;
const LINE_CHARS_MAX = 200;
const ACTION_CHARS_MAX = 80;
/** The most lines of one kind from one message. Otherwise a pasted document would displace other messages. */
const LINES_PER_MESSAGE_MAX = 4;
const FILES_PER_MESSAGE_MAX = 20;

/** The weight of a file by the role that names it. A tool's search lists many files that nobody opens. */
export const FILE_WEIGHT = { user: 3, assistant: 2, system: 1, tool: 0.4 };
const ARGUMENT_WEIGHT = 3;
/** A call that carries text changes the file, so the file has this weight. */
const CHANGE_WEIGHT = 4;
const CHANGE_CHARS_MIN = 40;

const RULE =
  /\b(?:must|mustn['’]t|never|always|only|don['’]?t|do not|should not|shouldn['’]t|avoid|make sure|no longer)\b/i;
const DECISION =
  /\b(?:decided?|decision|agreed?|concluded?|root cause|turns? out|(?:problem|issue|bug|cause|reason|fix|solution) (?:is|was)|instead of|rather than|fixed|resolved|confirmed|verified|works? because|fails? because|the fix)\b/i;
const INTENT = /^(?:now|next|ok(?:ay)?|i['’]?ll|i will|i need|let me|let['’]s|first|wait)\b/i;

/** If a call has none of these arguments, its first string describes it. */
const COMMAND_ARGUMENTS = ["command", "cmd", "script"];
const PATH_ARGUMENTS = ["file_path", "filePath", "absolute_path", "filename", "path", "pattern", "query", "url"];

/**
 * Reads a message's notes: files, requests, rules, decisions, calls and results. Most are recognized by their shape, some by
 * English words. At most `NOTED_CHARS_MAX` characters of the text are read.
 *
 * @param message  The stored `text` and `parts`. Long strings in `parts` may be references to artifacts.
 */
export function notesOf(message: StoredWords): Notes {
  return { files: namedFilesOf(message), said: saidOf(message), ...actionsOf(message) };
}

/** Reads only the files of a message. */
export function namedFilesOf(message: StoredWords): Notes["files"] {
  const calls = message.parts.filter((part) => part.type === "tool_call" && !isInjected(part)) as ToolCallPart[];
  return filesOf(message.role, wordsOf(message), calls);
}

/** The stored `text` and `parts` of a message. */
interface StoredWords {
  role: Role;
  text: string;
  parts: readonly Part[];
}

function wordsOf({ text }: StoredWords): string {
  return readPart(text);
}

function readPart(text: string): string {
  return plainText(excerpt(text, NOTED_CHARS_MAX, NOTED_CHARS_MAX - NOTED_END_CHARS));
}

/** Reads only the requests, rules and decisions of a message. */
export function saidOf(message: StoredWords): Notes["said"] {
  const parts = message.parts.filter((part) => !isInjected(part));
  return saidIn(message.role, message.text, wordsOf(message), parts);
}

/** Reads only the calls and the results of a message. */
export function actionsOf(message: StoredWords): Pick<Notes, "calls" | "results"> {
  const parts = message.parts.filter((part) => !isInjected(part));
  const calls = parts.filter((part) => part.type === "tool_call");
  const results = parts.filter((part) => part.type === "tool_result");
  const words = wordsOf(message);
  return {
    calls: calls.map(({ toolCallId, name, args }) => {
      const main = mainArgument(args as JsonValue);
      const about = main === undefined ? "" : cutLine(callSummary(main), ACTION_CHARS_MAX);
      return { callId: toolCallId, name: oneLine(name), about, isCommand: main?.isCommand === true };
    }),
    results: results.flatMap(({ toolCallId, isError: failed = false }) => {
      return failed && isRefusal(words) ? [] : [{ callId: toolCallId, failed, ...verdictIn(words, failed) }];
    }),
  };
}

function filesOf(role: Role, words: string, calls: readonly { args: unknown }[]): Notes["files"] {
  const weights = new Map<string, number>();
  for (const { args } of calls) {
    const strings = Object.values((args ?? {}) as Record<string, unknown>).filter((value) => typeof value === "string");
    const changes = strings.some((value) => value.length >= CHANGE_CHARS_MIN && value.includes("\n"));
    const main = mainArgument(args as JsonValue)?.text ?? "";
    for (const path of filesIn(main.slice(0, NOTED_CHARS_MAX))) {
      weights.set(path, changes ? CHANGE_WEIGHT : ARGUMENT_WEIGHT);
    }
  }
  const named = filesIn(words).slice(0, FILES_PER_MESSAGE_MAX);
  for (const path of named) {
    if (!weights.has(path)) weights.set(path, FILE_WEIGHT[role] / Math.sqrt(named.length));
  }
  return Array.from(weights, ([path, weight]) => ({ path, weight }));
}

function saidIn(role: Role, text: string, words: string, parts: readonly Part[]): Notes["said"] {
  if (role === "user") return saidByUser(words, text.length > NOTED_CHARS_MAX);
  if (role !== "assistant") return [];
  let prose = "";
  for (const part of parts) {
    if (prose.length >= NOTED_CHARS_MAX) break;
    if (part.type === "text") prose += `${prose && "\n"}${part.text.slice(0, NOTED_CHARS_MAX - prose.length)}`;
  }
  return tellingSentences(prose, DECISION)
    .filter(isDecision)
    .slice(0, LINES_PER_MESSAGE_MAX)
    .map((sentence) => ({ kind: "decision", text: cutLine(sentence, LINE_CHARS_MAX) }));
}

/** Returns the beginning of a request, and its sentences that set rules. For a pasted document, returns only the beginning. */
function saidByUser(words: string, isDocument: boolean): Notes["said"] {
  const said = withoutHarness(words);
  const request = cutLine(oneLine(said), REQUEST_CHARS_MAX);
  if (request.length < REQUEST_CHARS_MIN || !/\p{L}/u.test(request)) return [];
  if (isDocument) return [{ kind: "request", text: request }];
  const rules = tellingSentences(said, RULE).slice(0, LINES_PER_MESSAGE_MAX);
  // A short message that is a rule is noted once.
  const isRule = rules.length > 0 && request.length <= LINE_CHARS_MAX;
  const others = rules.filter((rule) => !request.includes(rule));
  return [
    { kind: isRule ? "rule" : "request", text: request },
    ...others.map((rule) => ({ kind: "rule" as const, text: cutLine(rule, LINE_CHARS_MAX) })),
  ];
}

/** Returns true if the sentence says what was decided or found out, and does not announce work. */
export function isDecision(sentence: string): boolean {
  return DECISION.test(sentence) && !INTENT.test(sentence);
}

function tellingSentences(text: string, pattern: RegExp): string[] {
  // Most texts have no such sentence, and finding out is quicker than splitting them. An editor may have wrapped it.
  if (!pattern.test(oneLine(text))) return [];
  return sentencesOf(plainText(text)).flatMap(({ kind, text: sentence }) => {
    const isTelling =
      kind === "prose" && pattern.test(sentence) && !/[:：?？][*_]*$/.test(sentence) && isProse(sentence);
    return isTelling ? [sentence] : [];
  });
}

/** Returns true for the result of a command that failed, by its agent's mark or by its words. */
export function isFailure({ isError: failed = false }: ToolResultPart, words: string): boolean {
  return failed || errorIn(linesOf(readPart(words))) !== undefined;
}

/** Returns the first error line, or the first line of a failed call, and the last count or verdict. */
function verdictIn(words: string, failed: boolean): { error: string | undefined; outcome: string | undefined } {
  const lines = linesOf(words);
  const error = errorIn(lines) ?? (failed ? lines[0] : undefined);
  const outcome = lines.findLast((line) => isOutcome(oneLine(line)) && !isCode(line));
  return {
    error: error && cutLine(oneLine(error), LINE_CHARS_MAX),
    outcome: outcome && cutLine(oneLine(outcome), LINE_CHARS_MAX),
  };
}

function linesOf(words: string): string[] {
  return words.split("\n").filter((line) => /\S/.test(line));
}

function errorIn(lines: readonly string[]): string | undefined {
  return lines.find((line) => isError(oneLine(line)) && !isCode(line));
}

/** Returns the argument that says what a call is about. */
export function mainTextOf(args: unknown): string | undefined {
  return mainArgument(args as JsonValue)?.text;
}

/** Returns the whole command that a call runs, on one line; undefined if it runs none. */
export function commandOf(args: unknown): string | undefined {
  const main = mainArgument(args as JsonValue);
  return main?.isCommand === true ? oneLine(main.text) : undefined;
}

function callSummary({ text, isCommand }: { text: string; isCommand: boolean }): string {
  const beginning = text.slice(0, NOTED_CHARS_MAX);
  if (isCommand) return oneLine(beginning.replace(/\s\d?>&\d/g, "").split(/\s\|\s/)[0]!);
  const [path] = filesIn(beginning);
  // Arguments that are not JSON are one string.
  const isPath = path !== undefined && (beginning.trim().endsWith(path) || /^[{[]/.test(beginning));
  return isPath ? path.slice(path.lastIndexOf("/") + 1) : oneLine(beginning);
}

function mainArgument(args: JsonValue): { text: string; isCommand: boolean } | undefined {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  const key = [...COMMAND_ARGUMENTS, ...PATH_ARGUMENTS, ...Object.keys(args)].find(
    (name) => argumentText(args[name]) !== "",
  );
  return key === undefined ? undefined : { text: argumentText(args[key]), isCommand: COMMAND_ARGUMENTS.includes(key) };
}

/** Some tools take a command as a list of words. */
function argumentText(value: JsonValue | undefined): string {
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(" ");
  return typeof value === "string" ? value : "";
}
