import type { Action, ActionKind, ActionOutcome, StepAction } from "../core/action.ts";
import { mayBeNote } from "../core/artifacts.ts";
import type { Part, ToolCallPart, ToolResultPart } from "../core/message.ts";
import { isInjected } from "../core/text.ts";
import { baseName } from "../core/working-set.ts";
import { errorSignature } from "./error-signature.ts";
import { cutLine, excerpt, oneLine, plainText } from "./lines.ts";
import { isCode, isError } from "./shapes.ts";
import { commandLineOf, commandsIn, type ShellCommand } from "./shell.ts";

/** The answer to a tool call, as text. */
export interface ActionResult {
  text: string;
  /** What the agent says; undefined if it does not tell. */
  isError?: boolean | undefined;
  /** The exit status, if the agent writes it around the output. */
  status?: string;
}

/** The longest `target`, in UTF-16 units. */
const TARGET_CHARS_MAX = 240;
const NAME_CHARS_MAX = 120;
/** The most programs of a command line, files of a patch, and files of a program that are noted. */
const COMMANDS_MAX = 8;
const FILES_MAX = 20;
/** Longer results are read at their beginning and end. */
const RESULT_CHARS_MAX = 60_000;
/** More is not read of arguments that were cut off. */
const TORN_CHARS_MAX = 20_000;
/** An exit status is told at the beginning or at the end of a result. */
const STATUS_CHARS = 400;

/** Words in names of tools. The first list with one of the words decides. */
const KIND_WORDS: readonly (readonly [ActionKind | undefined, ReadonlySet<string>])[] = [
  [undefined, wordSet("todo todos todowrite plan think thought thinking memory question ask mode title")],
  ["task", wordSet("task agent subagent delegate spawn")],
  ["edit", wordSet("edit multiedit replace patch insert modify update rename delete move change")],
  ["write", wordSet("write create save overwrite")],
  ["fetch", wordSet("fetch webfetch browse navigate url http download")],
  ["search", wordSet("grep glob search find finder ls list dir directory tree rg websearch query")],
  ["read", wordSet("read view open cat get show notebookread")],
  ["run", wordSet("bash shell exec execute execution run command terminal cmd powershell script")],
];

const PATHS = [
  "file_path",
  "filePath",
  "absolute_path",
  "AbsolutePath",
  "path",
  "file",
  "filename",
  "notebook_path",
  "target_file",
  "TargetFile",
];
const COMMANDS = ["command", "CommandLine", "cmd", "script", "code"];
const PATTERNS = [
  "pattern",
  "Query",
  "patterns",
  "query",
  "regex",
  "glob",
  "glob_pattern",
  "filePattern",
  "search",
  "path",
  "dir_path",
  "directory",
  "directory_path",
  "DirectoryPath",
];
const ADDRESSES = ["url", "uri", "urls"];
const TASKS = ["description", "prompt", "task", "message", "instructions"];

/** Programs that print files, and the option that makes `sed` change them. */
const PRINTING = new Set(["cat", "head", "tail", "less", "more", "bat", "nl", "sed"]);
/** Programs that print lines which others wrote. An error in such a line is not theirs. */
export const QUOTING =
  /^(?:cat|head|tail|less|more|bat|nl|sed|[ef]?grep|rg|ag|find|ls|awk|jq|diff|git (?:log|show|diff|blame|grep))(?: |$)/;
const SED_SCRIPT = /^[\d,$]*[sy]([^\w\s]).*\1|^[\d,$]+[pd]$/;
const IN_PLACE = /^-(?:i|-in-place)/;
/** Programs that tell nothing about the work. They are noted if a line starts no others. */
const TRIVIAL = new Set(
  "cd echo printf export set unset source . sleep true false pwd [ [[ test wait exit : done fi for".split(" "),
);

/** A program that repeats the command before its output. */
const ECHOED = /^(?:\[[^\]]*\] )?(?:\$|>|\+) \S/;
const CD_FAILED = /\bcd:/;
/** What an agent's program writes for a call that it did not make. */
const NOT_MADE =
  /^(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call|Permission for this tool use was denied|\[?Request interrupted by user|The user doesn['’]t want to (?:proceed|take this action)|(?:The )?(?:tool )?(?:call|use|command|operation|request) (?:was )?(?:rejected|denied|cancell?ed|aborted) by (?:the )?user|User (?:rejected|denied|cancell?ed)|\[?(?:Operation )?(?:cancell?ed|aborted)\b)/i;
/** A line that tells an exit status and nothing else, such as `Process exited with code 1`. */
const STATUS =
  /^\W*(?:\w[\w:]* ){0,4}(?:exit(?:ed with)?[ _]?(?:code|status)|exited with)(?: was| of)?[:=]? *(-?\d+)\W*$/i;
const JSON_STATUS = /"exit_?code":\s*(-?\d+)/i;
/** The lines that Codex writes before the output of a command. */
const HEADED =
  /^(?:(?:Chunk ID|Wall time|Original token count|Total output lines): .*\n|(?:Exit code:|Process exited with code) (?<status>-?\d+)\n)+Output:\n/;
/** The lines that Gemini CLI writes around it. */
const FRAME_START = /^(?:Command|Directory|Output|Stdout): /;
const FRAME_PARTS = [/^(?:Output|Stdout): /m, /^(?:Error|Stderr): /m, /^Exit Code: /m];
const EMPTY = /^\((?:none|empty)\)$/;
/** Programs whose exit status 1 says that nothing was found, or that something differs. */
const FINDING = /^(?:[efz]?grep|rg|ag|ack|diff|cmp|pgrep|which|git (?:grep|diff)|command -v|type)(?: |$)/;

/** The messages of a step. The first one has the calls, and the others have their results. */
export type ActingStep = readonly { id: number; parts: readonly Part[] }[];

/** Returns what the calls of a step did, in order. Calls of Coppice itself are no work. */
export function actionsOfStep([asking, ...answers]: ActingStep): StepAction[] {
  const results = new Map<string, ActionResult & { id: number }>();
  for (const { id, parts } of answers) {
    for (const part of parts) if (part.type === "tool_result") results.set(part.toolCallId, { id, ...resultOf(part) });
  }
  const actions = (asking?.parts ?? []).flatMap((part, index) => {
    if (part.type !== "tool_call" || isInjected(part)) return [];
    const result = results.get(part.toolCallId);
    const of = { messageId: asking!.id, part: index, resultId: result?.id ?? null };
    return actionsIn(part, result).map((action) => ({ ...of, ...action }));
  });
  return actions.map((action, ordinal) => ({ ...action, ordinal }));
}

/** @param elsewhere  The text of a result that is stored elsewhere, as far as the message has it. */
export function resultOf({ content, isError }: ToolResultPart, elsewhere = ""): ActionResult {
  const texts =
    typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : ""));
  return { text: texts.map((text) => (mayBeNote(text) ? elsewhere : text)).join("\n"), isError };
}

/** Returns what a program printed, without what an agent writes around it. */
export function outputIn(text: string): string {
  return unwrapped({ text }).text;
}

/** Reads the output of a program, and its exit status, out of what an agent writes around them. */
function unwrapped(result: ActionResult): ActionResult {
  const text = result.text.trimStart();
  const wrapped = text.startsWith("{") && JSON_STATUS.test(text) ? jsonOutput(text) : undefined;
  if (wrapped !== undefined) return { ...result, ...wrapped };
  const head = HEADED.exec(text);
  const status = head?.groups?.status ?? /^Process exited with code (-?\d+)$/m.exec(head?.[0] ?? "")?.[1];
  if (head !== null && status !== undefined) return { ...result, text: text.slice(head[0].length), status };
  return { ...result, ...framedOutput(text) };
}

/** Looks for one label after the other, because a pattern of all of them takes minutes for a text that repeats the labels. */
function framedOutput(text: string): { text: string; status: string } | undefined {
  if (!FRAME_START.test(text)) return undefined;
  const parts: string[] = [];
  let rest = text;
  for (const label of FRAME_PARTS) {
    const found = label.exec(rest);
    if (found === null) return undefined;
    parts.push(rest.slice(0, found.index).trimEnd());
    rest = rest.slice(found.index + found[0].length);
  }
  const status = /^-?\d+\b/.exec(rest)?.[0];
  if (status === undefined) return undefined;
  const said = parts.slice(1).filter((part) => !EMPTY.test(part.trim()));
  return { text: said.join("\n"), status };
}

/** Reads `{"output": "…", "metadata": {"exit_code": 0}}`. */
function jsonOutput(text: string): { text: string; status: string } | undefined {
  try {
    const { output, metadata } = JSON.parse(text);
    const status = metadata?.exit_code;
    return typeof output === "string" && typeof status === "number"
      ? { text: output, status: String(status) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true for the actions whose target is a file. */
export function isOfFile(kind: ActionKind): boolean {
  return kind === "read" || isChange(kind);
}

export function isChange(kind: ActionKind): boolean {
  return kind === "edit" || kind === "write";
}

/** Returns the whole command line that a call runs, on one line; undefined if it runs none. */
export function commandLineIn({ args }: Pick<ToolCallPart, "args">): string | undefined {
  const line = commandIn(fieldsOf(args));
  return line && oneLine(line);
}

const known = new WeakMap<object, readonly Action[]>();

/** Reads what a call does before its result is known, once for each object. */
export function actionsOfCall(call: Pick<ToolCallPart, "name" | "args">): readonly Action[] {
  let actions = known.get(call);
  if (actions === undefined) {
    actions = actionsIn(call, undefined);
    known.set(call, actions);
  }
  return actions;
}

/**
 * Reads what a tool call did, whatever the tool is called: from the words of its name and from its arguments. A command line is an
 * action for each of its programs, and for each file that these print, change or write. Calls that only keep lists or ask the user
 * are no actions.
 *
 * @param result  undefined if the call has no result.
 */
export function actionsIn(
  { name, args }: Pick<ToolCallPart, "name" | "args">,
  printed: ActionResult | undefined,
): Action[] {
  const fields = fieldsOf(args);
  const kind = kindOf(name, fields);
  if (kind === undefined) return [];
  const result = printed && unwrapped(printed);
  const fileAction = (of: ActionKind, path: string, outcome = outcomeOf(result, of)): Action => {
    const target = targetOf(path);
    return {
      kind: of,
      name: cutName(baseName(target) || target),
      target: cutTarget(target),
      outcome,
      error: errorIn(result, outcome),
    };
  };
  const patched = filesOfPatch(fields);
  if (patched.length > 0) return patched.slice(0, FILES_MAX).map((file) => fileAction(file.kind, file.path));
  if (isOfFile(kind)) {
    const path = textIn(fields, PATHS);
    const paths = path === undefined ? pathsOfEdits(fields) : [path];
    if (paths.length > 0) return paths.slice(0, FILES_MAX).map((one) => fileAction(kind, one));
  }
  if (kind === "run") {
    const line = commandIn(fields);
    if (line !== undefined) return actionsOfLine(line, result, fileAction);
  }
  const outcome = outcomeOf(result, kind);
  const about = textIn(fields, kind === "task" ? TASKS : kind === "fetch" ? ADDRESSES : PATTERNS) ?? argumentsOf(args);
  const isTool = kind === "run" || isOfFile(kind);
  return [
    {
      kind: isTool ? "run" : kind,
      name: cutName(name),
      target: cutTarget(isTool ? `${name} ${about}` : about),
      outcome,
      error: errorIn(result, outcome),
    },
  ];
}

function targetOf(path: string): string {
  return oneLine(path)
    .replaceAll("\\", "/")
    .replace(/^(?:\.\/)+/, "");
}

function actionsOfLine(
  line: string,
  result: ActionResult | undefined,
  fileAction: (kind: ActionKind, path: string, outcome: ActionOutcome) => Action,
): Action[] {
  const all = commandsIn(line);
  const telling = all.filter(({ words }) => !TRIVIAL.has(words[0]!) && !words[0]!.startsWith("#"));
  // In a pipeline, the first program does the work, and the others show a part of what it printed.
  const started = (telling.length > 0 ? telling : all.slice(0, 1)).filter(
    (command) => !isFed(all, command) || telling.length === 1,
  );
  const outcomes = outcomesOf(started, result);
  return started.slice(0, COMMANDS_MAX).flatMap((command, index): Action[] => {
    const outcome = outcomes[index]!;
    const program = cutName(baseName(command.words[0]!));
    const target = cutTarget(command.text);
    const ran: Action = { kind: "run", name: program, target, outcome, error: errorIn(result, outcome) };
    const files = [
      ...command.writes.filter(isFile).map((path) => fileAction("write", path, outcome)),
      ...filesPrinted(command).map(({ kind, path }) => fileAction(kind, path, outcome)),
    ];
    return [ran, ...files.map((file) => ({ ...file, error: null }))];
  });
}

function isFed(all: readonly ShellCommand[], command: ShellCommand): boolean {
  const before = all[all.indexOf(command) - 1];
  return before?.feedsNext === true;
}

/**
 * The exit status of a line is that of its last list of programs, in which one fails after others have succeeded: the first one that the
 * error names, or else the last one. Of a program whose status nobody sees, an error in the output tells that it may have failed, unless
 * it prints what others wrote.
 */
function outcomesOf(commands: readonly ShellCommand[], result: ActionResult | undefined): ActionOutcome[] {
  const whole = outcomeOf(result, "run");
  if (whole === "unknown") return commands.map(() => "unknown");
  const [error] = linesOf(result!.text).filter(reportsError);
  // The shell itself failed, before it started any of them.
  if (whole === "failed" && error !== undefined && CD_FAILED.test(error)) return commands.map(() => "unknown");
  const isTold = result!.isError !== undefined || statusOf(result!) !== undefined;
  const isNamed = ({ words: [program = ""] }: ShellCommand): boolean =>
    error !== undefined && (error.startsWith(`${baseName(program)}:`) || error.includes(`: ${program}: `));
  const isRight = (command: ShellCommand): boolean => {
    if (error === undefined || (isTold && command.isOfLast && !command.isPiped)) return true;
    return QUOTING.test(command.words.join(" ")) && !isNamed(command);
  };
  // The first of the programs that the error names, or else the last.
  const mayHaveFailed = commands.filter((command) => (whole === "failed" ? command.isOfLast : !isRight(command)));
  const failed = mayHaveFailed.find(isNamed) ?? mayHaveFailed.at(-1);
  const isVain = whole === "failed" && statusOf(result!) === "1" && error === undefined;
  return commands.map((command) => {
    if (command === failed) return isVain && FINDING.test(command.words.join(" ")) ? "ok" : "failed";
    return whole === "ok" && isRight(command) ? "ok" : "unknown";
  });
}

/** Returns the files that a program prints, or changes in place. */
function filesPrinted({ words: [program = "", ...args] }: ShellCommand): { kind: ActionKind; path: string }[] {
  if (!PRINTING.has(program)) return [];
  const kind = program === "sed" && args.some((arg) => IN_PLACE.test(arg)) ? "edit" : "read";
  const paths = args.filter((arg) => isFile(arg) && !SED_SCRIPT.test(arg));
  return paths.slice(0, FILES_MAX).map((path) => ({ kind, path }));
}

/** Returns true for a word that can be the path of a file, and is no option, pattern, number, device or expression. */
function isFile(word: string): boolean {
  return /^[\w@+~./-][\w@+ .:/\\~-]*$/.test(word) && /[./]\w/.test(word) && !/^-|^\/dev\/|^[\d.,]+$|\.\.\.$/.test(word);
}

function kindOf(name: string, fields: Fields): ActionKind | undefined {
  const own = name.slice(Math.max(name.lastIndexOf("__") + 2 * Number(name.includes("__")), name.lastIndexOf(".") + 1));
  const words = own
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  // Editors of some providers say in an argument what they do.
  const way = fields.command;
  if (typeof way === "string" && textIn(fields, PATHS) !== undefined) {
    if (way === "view") return "read";
    if (way === "create" || way === "write") return "write";
    if (/^(?:str_replace|insert|undo_edit|delete|rename)$/.test(way)) return "edit";
  }
  const known = KIND_WORDS.find(([, set]) => words.some((word) => set.has(word)));
  if (known !== undefined && known[0] === undefined) return undefined;
  const kind = known?.[0] ?? "run";
  if (kind === "run" || commandIn(fields) === undefined) return kind;
  return textIn(fields, PATHS) === undefined && kind !== "task" ? "run" : kind;
}

type Fields = Record<string, unknown>;

/** Arguments that are no JSON are kept as a text. */
function fieldsOf(args: unknown): Fields {
  const fields = typeof args === "object" && args !== null && !Array.isArray(args) ? (args as Fields) : { text: args };
  return typeof fields.text === "string" && Object.keys(fields).length === 1 ? fieldsIn(fields.text) : fields;
}

/** Some providers give arguments as JSON, and some of it may be cut off. What is no JSON is one argument. */
function fieldsIn(text: string): Fields {
  if (!/^\s*\{/.test(text)) return { text };
  try {
    return JSON.parse(text) as Fields;
  } catch {
    const fields = text.slice(0, TORN_CHARS_MAX).matchAll(/"(\w+)":\s*"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?$)/g);
    const unescaped = (value: string): string =>
      value.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, unit, sign) => {
        if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
        return sign === "n" ? "\n" : sign === "t" ? "\t" : sign;
      });
    return Object.fromEntries(Array.from(fields, ([, name, value]) => [name, unescaped(value!)]));
  }
}

/** Returns the first of these arguments that is a text, or a list of texts. */
function textIn(fields: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    const text = Array.isArray(value) ? value.filter((item) => typeof item === "string").join(" ") : value;
    if (typeof text === "string" && text.trim() !== "") return text;
  }
  return undefined;
}

function commandIn(fields: Fields): string | undefined {
  for (const name of COMMANDS) {
    const value = fields[name];
    if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")) {
      return commandLineOf(value);
    }
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return undefined;
}

function argumentsOf(args: unknown): string {
  return typeof args === "string" ? args : (JSON.stringify(args) ?? "");
}

const PATCH_LINE = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm;

/** Returns the files of a patch in the format of `apply_patch`, or of a list of changes. */
function filesOfPatch(fields: Fields): { kind: ActionKind; path: string }[] {
  const { changes } = fields;
  if (Array.isArray(changes)) {
    return changes.flatMap((change: { path?: unknown; kind?: unknown } | null) => {
      if (typeof change?.path !== "string") return [];
      return { kind: change.kind === "add" ? ("write" as const) : ("edit" as const), path: change.path };
    });
  }
  return Array.from(patchIn(fields)?.matchAll(PATCH_LINE) ?? [], ([, way, path]) => {
    return { kind: way === "Add" ? "write" : "edit", path: path!.trim() };
  });
}

const PATCH = /^\s*\*\*\* Begin Patch\n/;
const PATCHING_PROGRAM = /\bapply_patch\b/;
const PATCH_IN_COMMAND = /(?:^|')\*\*\* Begin Patch\n/m;

/** Returns a patch in the format of `apply_patch`: an argument, or a part of a command. */
function patchIn(fields: Fields): string | undefined {
  if (textIn(fields, PATHS) !== undefined) return undefined; // the text of a file may hold a patch
  const command = commandIn(fields);
  if (command !== undefined) {
    const at = command.search(PATCHING_PROGRAM);
    return at >= 0 && PATCH_IN_COMMAND.test(command.slice(at)) ? command : undefined;
  }
  return Object.values(fields).find((text): text is string => typeof text === "string" && PATCH.test(text));
}

function outcomeOf(result: ActionResult | undefined, kind: ActionKind): ActionOutcome {
  if (result === undefined) return "unknown";
  const text = result.text.trimStart();
  if (NOT_MADE.test(text.slice(0, STATUS_CHARS))) return "unknown";
  if (result.isError === true || text.startsWith("<tool_use_error>")) return "failed";
  return kind === "run" && Number(statusOf(result) ?? 0) !== 0 ? "failed" : "ok";
}

function statusOf({ text, status }: ActionResult): string | undefined {
  return status ?? statusIn(text.trimStart());
}

/** Returns the exit status that the first or the last line of a result tells, or the JSON that a result is. */
function statusIn(text: string): string | undefined {
  if (text.startsWith("{")) return JSON_STATUS.exec(text.slice(-STATUS_CHARS))?.[1];
  const [first = "", last = ""] = [text.slice(0, STATUS_CHARS), text.trimEnd().slice(-STATUS_CHARS)];
  return (STATUS.exec(first.split("\n")[0]!) ?? STATUS.exec(last.slice(last.lastIndexOf("\n") + 1)))?.[1];
}

function errorIn(result: ActionResult | undefined, outcome: ActionOutcome): string | null {
  if (outcome !== "failed" || result === undefined) return null;
  for (const line of errorLinesIn(result.text)) {
    const signature = errorSignature(line);
    if (signature !== undefined) return signature;
  }
  return null;
}

/** Returns the lines that report an error, or else the first line. */
export function errorLinesIn(text: string): string[] {
  const lines = linesOf(text);
  const errors = lines.filter(reportsError);
  return errors.length > 0 ? errors : lines.slice(0, 1);
}

/** Returns the lines that say something, without those that only repeat the exit status or the command. */
function linesOf(text: string): string[] {
  const lines = plainText(excerpt(text, RESULT_CHARS_MAX)).split("\n");
  return lines.map((line) => line.trim()).filter((line) => line !== "" && !isStatus(line) && !ECHOED.test(line));
}

function reportsError(line: string): boolean {
  return !isCode(line) && isError(line) && !/^Traceback\b/.test(line);
}

function isStatus(line: string): boolean {
  return line.length < STATUS_CHARS && STATUS.test(line);
}

function cutName(text: string): string {
  return cutLine(oneLine(text), NAME_CHARS_MAX);
}

function cutTarget(text: string): string {
  return cutLine(oneLine(text), TARGET_CHARS_MAX);
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** The arguments with the text that an edit replaces, with the new one, and with lists of edits. */
const REPLACED = ["old_string", "oldString", "old_str", "oldText", "search", "before", "old"];
const INSERTED = [
  "new_string",
  "newString",
  "new_str",
  "newText",
  "insert_text",
  "new_source",
  "content",
  "file_text",
  "after",
  "new",
];
/** The arguments with the whole text of a file. */
const WRITTEN = ["content", "file_text"];
const EDITS = ["edits", "replacements", "edit"];

function editsIn(fields: Fields): Fields[] {
  return EDITS.flatMap((name) => [fields[name] ?? []].flat()).map(fieldsOf);
}

/** Returns the files of a call that changes several. */
function pathsOfEdits(fields: Fields): string[] {
  return [...new Set(editsIn(fields).flatMap((edit) => textIn(edit, PATHS) ?? []))];
}

/** A place that a call changes: its text before and after. */
interface Change {
  before: string | undefined;
  after: string;
}

/** Returns what a call changes in a file, as far as its arguments say it. @param path  As the call's action has it. */
function changesBy({ args }: Pick<ToolCallPart, "args">, path: string): Change[] {
  const fields = fieldsOf(args);
  const patch = patchIn(fields);
  if (patch !== undefined) return changesOfPatch(patch, path);
  const own = editsIn(fields).filter((edit) => targetOf(textIn(edit, PATHS) ?? path) === path);
  return [fields, ...own].flatMap((edit) => {
    const [before, after] = [textIn(edit, REPLACED), textIn(edit, INSERTED)];
    return before === undefined && after === undefined ? [] : { before, after: after ?? "" };
  });
}

function changesOfPatch(patch: string, path: string): Change[] {
  const files = patch.split(/^\*\*\* (?=(?:Add|Update|Delete) File: )/m).slice(1);
  const own = files.filter((file) => targetOf(/: (.*)/.exec(file)![1]!.trim()) === path);
  const pieces = own.flatMap((file) => file.split(/^@@.*$/m).slice(1));
  return pieces.map((piece) => {
    const without = (sign: string): string[] =>
      piece.split("\n").filter((line) => /^[-+ ]/.test(line) && line[0] !== sign);
    const [before, after] = [without("+"), without("-")].map((lines) => lines.map((line) => line.slice(1)).join("\n"));
    return { before: piece.includes("\n-") ? before : undefined, after: after! };
  });
}

/** Returns the texts that a call has replaced in a file, as far as its arguments say them. */
export function replacedBy(call: Pick<ToolCallPart, "args">, path: string): string[] {
  return changesBy(call, path).flatMap(({ before }) => before ?? []);
}

/** Returns the whole text that a call wrote to a file; undefined if its arguments do not say it. */
export function writtenBy({ args }: Pick<ToolCallPart, "args">): string | undefined {
  return textIn(fieldsOf(args), WRITTEN);
}

/** Returns the lines that a call put into a file, as far as its arguments say them. */
export function insertedBy(call: Pick<ToolCallPart, "args">, path: string): string {
  const lines = changesBy(call, path).flatMap(({ before = "", after }) => {
    const old = new Set(before.split("\n").map((line) => line.trim()));
    return after.split("\n").filter((line) => !old.has(line.trim()));
  });
  return lines.join("\n");
}
