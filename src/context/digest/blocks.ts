import type { Action } from "../../core/action.ts";
import type { Message, Part, Role } from "../../core/message.ts";
import { cutAtGrapheme } from "../../core/text.ts";
import { baseName, filesIn } from "../../core/working-set.ts";
import { actionsOfCall, isChange } from "../../models/actions.ts";

/** A few consecutive lines of a message, word for word. A digest shows a message block by block. */
export interface Block {
  /** Where the block begins and ends in the text, in UTF-16 units. */
  start: number;
  end: number;
  /** Its lines that say something, each once and trimmed: see `isTelling`. */
  lines: readonly string[];
  /** The identifiers and the base names of files in it, each once. */
  names: readonly string[];
}

/** A message, split into blocks. */
export interface BlockedMessage {
  id: number;
  seq: number;
  stepId: number;
  role: Role;
  name: string | undefined;
  metadata: Message["metadata"] | null;
  text: string;
  /** True if the text holds every word of the message. */
  isWhole: boolean;
  isCall: boolean;
  /** The keys under which the cache holds the kinds of its calls. */
  callKeys: readonly string[];
  blocks: readonly Block[];
  /** How likely later work is to use its lines again, compared with other messages of its age. */
  kindWeight: number;
}

/** The fields of a message that its blocks are made of. A long string in `parts` may be replaced by a note of where it is kept. */
export interface BlockSource {
  id: number;
  seq: number;
  stepId: number;
  role: Role;
  name?: string | null | undefined;
  metadata?: Message["metadata"] | null;
  text: string;
  parts: readonly Part[];
}

const BLOCK_LINES_MAX = 8;
const BLOCK_CHARS_MAX = 300;

/** A line that says something has at least three words. Shorter lines, such as a brace, are in every file. */
const TELLING_WORDS_MIN = 3;
const NOT_A_WORD = /[^\p{L}\p{N}]+/u;
const TWO_LETTERS = /\p{L}{2}/u;
const TELLING_CHARS_MIN = 20;
const TELLING_CHARS_MAX = 400;

/** JSON inside a text has line breaks as two characters. */
const LINE_BREAK = /\n|\\n/;

/** `camelCase`, `PascalCase`, `snake_case`: words that people do not write in prose. */
const IDENTIFIER = /\b(?:[a-z]+[A-Z]\w{2,}|[A-Z][a-z]+[A-Z]\w+|[A-Za-z]+_\w*[A-Za-z]\w{2,})\b/g;
const NAME_CHARS_MAX = 60;

/** `12→text`, as tools number the lines of a file. */
const LINE_NUMBER = /^[ \t]*\d+→/gm;

/**
 * Later work uses lines of files that were read or changed most often, then lines of other calls, then the user's. A list of tasks is
 * written again and again.
 */
const KIND_WEIGHT = { file: 1.3, call: 0.9, user: 0.6, other: 0.5, plan: 0.2 };

/** The messages of a session in blocks, each split once. */
export class BlockCache {
  readonly #messages = new Map<number, BlockedMessage>();
  /** The kind of each call. A key is the call's step and id. */
  readonly #calls = new Map<string, CallKind>();

  of(source: BlockSource): BlockedMessage {
    let message = this.#messages.get(source.id);
    if (message === undefined) {
      message = blocked(source, this.#calls);
      this.#messages.set(source.id, message);
    }
    return message;
  }

  /** Drops the messages before a seq at which a step begins. */
  dropBefore(seq: number): void {
    for (const [id, message] of this.#messages) {
      if (message.seq >= seq) continue;
      this.#messages.delete(id);
      for (const key of message.callKeys) this.#calls.delete(key);
    }
  }
}

export type CallKind = "read" | "change" | "plan" | "other";

function blocked(source: BlockSource, calls: Map<string, CallKind>): BlockedMessage {
  const { id, seq, stepId, role, name, parts } = source;
  const callKeys: string[] = [];
  for (const part of parts) {
    if (part.type !== "tool_call") continue;
    const key = `${stepId} ${part.toolCallId}`;
    calls.set(key, callKind(actionsOfCall(part)));
    callKeys.push(key);
  }
  const kind = kindOf(source, calls);
  const text = role === "tool" ? source.text.replace(LINE_NUMBER, "") : source.text;
  const isCall = callKeys.length > 0;
  return {
    id,
    seq,
    stepId,
    role,
    name: name ?? undefined,
    metadata: source.metadata,
    text,
    isWhole: isAllOf(parts, text),
    isCall,
    callKeys,
    blocks: blocksOf(text),
    kindWeight: KIND_WEIGHT[kind],
  };
}

/** Returns true if a text holds every word of the parts. White space does not count, because a context leaves out blank parts. */
function isAllOf(parts: readonly Part[], text: string): boolean {
  if (!parts.every(({ type }) => type === "text")) return false;
  const said = parts.map((part) => part.text as string).join("\n");
  const wordsOf = (words: string): string => words.replace(/\s+/g, " ").trim();
  return said === text || wordsOf(said) === wordsOf(text);
}

function kindOf({ role, stepId, parts }: BlockSource, calls: ReadonlyMap<string, CallKind>): keyof typeof KIND_WEIGHT {
  if (role === "user") return "user";
  for (const part of parts) {
    if (part.type !== "tool_call" && part.type !== "tool_result") continue;
    const call = calls.get(`${stepId} ${part.toolCallId}`);
    if (part.type === "tool_result") return call === "read" ? "file" : "other";
    if (call === "plan") return "plan";
    return call === "change" ? "file" : "call";
  }
  return "other";
}

/** Returns what the actions of a call are to the lines in it. Lists of tasks are no actions. */
export function callKind(actions: readonly Action[]): CallKind {
  if (actions.length === 0) return "plan";
  if (actions.some(({ kind }) => isChange(kind))) return "change";
  return actions.some(({ kind }) => kind === "read") ? "read" : "other";
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let start = 0;
  let end = 0;
  let lineCount = 0;
  const close = (): void => {
    if (end > start) blocks.push(blockOf(text, start, end));
  };
  for (const [from, to] of linesOf(text)) {
    if (lineCount === BLOCK_LINES_MAX || (lineCount > 0 && to - start > BLOCK_CHARS_MAX)) {
      close();
      lineCount = 0;
    }
    if (lineCount === 0) start = from;
    end = to;
    lineCount += 1;
  }
  close();
  return blocks;
}

/** Yields where the lines of a text begin and end. A long line is cut after a line break of JSON in it, a sentence, or a word. */
function* linesOf(text: string): Generator<[from: number, to: number]> {
  for (let from = 0; from <= text.length; ) {
    const lineBreak = text.indexOf("\n", from);
    const lineEnd = lineBreak === -1 ? text.length : lineBreak;
    if (/\S/.test(text.slice(from, lineEnd))) {
      while (lineEnd - from > BLOCK_CHARS_MAX) {
        const to = from + cutAt(text.slice(from, from + 2 * BLOCK_CHARS_MAX));
        yield [from, to];
        from = to;
      }
      yield [from, lineEnd];
    }
    from = lineEnd + 1;
  }
}

/** Returns where a text is cut so that at most `BLOCK_CHARS_MAX` characters are before the cut. */
function cutAt(text: string): number {
  const line = text.slice(0, BLOCK_CHARS_MAX);
  const escaped = line.lastIndexOf("\\n");
  if (escaped > BLOCK_CHARS_MAX / 3) return escaped + 2;
  const sentence = Math.max(line.lastIndexOf(". "), line.lastIndexOf("! "), line.lastIndexOf("? "));
  if (sentence > BLOCK_CHARS_MAX / 3) return sentence + 2;
  const word = line.lastIndexOf(" ");
  return word > BLOCK_CHARS_MAX / 3 ? word + 1 : cutAtGrapheme(text, BLOCK_CHARS_MAX).length;
}

function blockOf(text: string, start: number, end: number): Block {
  const shown = text.slice(start, end);
  return { start, end, lines: tellingLines(shown), names: namesIn(shown) };
}

/** Returns true for a trimmed line that says something. */
export function isTelling(line: string): boolean {
  if (line.length < TELLING_CHARS_MIN || line.length > TELLING_CHARS_MAX) return false;
  let words = 0;
  let letters = 0;
  let isCounted = false;
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code >= 128) return isTellingBeyondAscii(line);
    const isLetter = (code | 32) >= 97 && (code | 32) <= 122;
    letters = isLetter ? letters + 1 : 0;
    if (!isLetter && (code < 48 || code > 57)) isCounted = false;
    if (letters < 2 || isCounted) continue;
    isCounted = true;
    if (++words === TELLING_WORDS_MIN) return true;
  }
  return false;
}

function isTellingBeyondAscii(line: string): boolean {
  return line.split(NOT_A_WORD).filter((word) => TWO_LETTERS.test(word)).length >= TELLING_WORDS_MIN;
}

/** Returns the lines of a text that say something, each once and trimmed. */
export function tellingLines(text: string): string[] {
  const lines = new Set<string>();
  const hasJson = text.includes("\\");
  for (const line of text.split(hasJson ? LINE_BREAK : "\n")) {
    const trimmed = (hasJson ? line.replaceAll("\\t", " ").replaceAll('\\"', '"') : line).trim();
    if (isTelling(trimmed)) lines.add(trimmed);
  }
  return [...lines];
}

/** Returns the identifiers and the base names of files in a text, each once. */
export function namesIn(text: string): string[] {
  const names = new Set<string>();
  for (const name of text.match(IDENTIFIER) ?? []) if (name.length <= NAME_CHARS_MAX) names.add(name);
  for (const path of filesIn(text)) names.add(baseName(path));
  return [...names];
}
