import type { Action } from "../core/action.ts";
import type { Part, Role, ToolCallPart } from "../core/message.ts";
import type { NotedMessage, Notes } from "../core/notes.ts";
import { isInjected } from "../core/text.ts";
import { filesIn } from "../core/working-set.ts";
import { type ActionResult, actionsIn, actionsOfCall, errorLinesIn, isChange, isOfFile, resultOf } from "./actions.ts";
import { cutLine, excerpt, oneLine, plainText } from "./lines.ts";
import { isCode, isOutcome } from "./shapes.ts";

/** If a message is longer, only its beginning and its end are read. */
const NOTED_CHARS_MAX = 1_500;
const NOTED_END_CHARS = 500;

const LINE_CHARS_MAX = 200;
const ACTION_CHARS_MAX = 80;
const FILES_PER_MESSAGE_MAX = 20;

/** The weight of a file by the role that names it. A tool's search lists many files that nobody opens. */
export const FILE_WEIGHT = { user: 3, assistant: 2, system: 1, tool: 0.4 };
const ARGUMENT_WEIGHT = 3;
const CHANGE_WEIGHT = 4;

/**
 * Reads the notes of messages in order: files, calls and results. At most `NOTED_CHARS_MAX` characters of a text are read.
 */
export class NoteReader {
  /** A key is the call's step and id. */
  readonly #calls = new Map<string, ToolCallPart>();

  of(message: StoredWords & { id: number; seq: number; stepId: number }): NotedMessage {
    const { id: messageId, seq } = message;
    return { messageId, seq, files: namedFilesOf(message), ...this.doneIn(message) };
  }

  /** Reads only the calls and the results of a message. A result is left out if its call was not read. */
  doneIn({ stepId, parts, text }: StoredWords & { stepId: number }): Pick<Notes, "did" | "results"> {
    const did: string[] = [];
    const results: Notes["results"][number][] = [];
    // The text of a message with several results does not tell which one is whose.
    const elsewhere = parts.filter(({ type }) => type === "tool_result").length === 1 ? text : "";
    for (const part of parts) {
      if (isInjected(part)) continue;
      if (part.type === "tool_call") {
        this.#calls.set(`${stepId} ${part.toolCallId}`, part);
        did.push(...toldIn(actionsOfCall(part)).map(didOf));
      } else if (part.type === "tool_result") {
        const call = this.#calls.get(`${stepId} ${part.toolCallId}`);
        if (call !== undefined) results.push(...resultsOf(call, resultOf(part, elsewhere)));
      }
    }
    return { did, results };
  }
}

/** Reads only the files of a message. */
export function namedFilesOf(message: StoredWords): Notes["files"] {
  const calls = message.parts.filter((part) => part.type === "tool_call" && !isInjected(part)) as ToolCallPart[];
  return filesOf(message.role, wordsOf(message), calls);
}

/** The stored `text` and `parts` of a message. Long strings in `parts` may be references to artifacts. */
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

function filesOf(role: Role, words: string, calls: readonly ToolCallPart[]): Notes["files"] {
  const weights = new Map<string, number>();
  for (const { kind, target } of calls.flatMap((call) => actionsOfCall(call))) {
    const weight = isChange(kind) ? CHANGE_WEIGHT : ARGUMENT_WEIGHT;
    for (const path of filesIn(target)) weights.set(path, Math.max(weight, weights.get(path) ?? 0));
  }
  const named = filesIn(words).slice(0, FILES_PER_MESSAGE_MAX);
  for (const path of named) {
    if (!weights.has(path)) weights.set(path, FILE_WEIGHT[role] / Math.sqrt(named.length));
  }
  return Array.from(weights, ([path, weight]) => ({ path, weight }));
}

/** The files that a command prints or writes are told by the command. */
function toldIn(actions: readonly Action[]): readonly Action[] {
  const runs = actions.filter(({ kind }) => kind === "run");
  return runs.length > 0 ? runs : actions;
}

function didOf({ kind, name, target }: Action): string {
  return cutLine(kind === "run" ? target : `${kind} ${isOfFile(kind) ? name : target}`, ACTION_CHARS_MAX);
}

/** Tells of a failed action the first line that reports an error, and of the last program that ran its last count or verdict. */
function resultsOf(call: ToolCallPart, result: ActionResult): Notes["results"] {
  const text = readPart(result.text);
  const actions = toldIn(actionsIn(call, { ...result, text }));
  const last = actions.findLast(({ kind, outcome }) => kind === "run" && outcome === "ok");
  return actions.map((action) => {
    const { outcome } = action;
    const line =
      outcome === "failed" ? (errorLinesIn(text)[0] ?? "failed") : action === last ? verdictIn(text) : undefined;
    return { did: didOf(action), outcome, line: line && cutLine(oneLine(line), LINE_CHARS_MAX) };
  });
}

function verdictIn(text: string): string | undefined {
  return text.split("\n").findLast((line) => isOutcome(oneLine(line)) && !isCode(line));
}
