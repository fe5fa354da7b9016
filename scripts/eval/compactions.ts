import { existsSync } from "node:fs";
import { join } from "node:path";
import { filesIn } from "../../src/core/working-set.ts";
import type { MessageInput } from "../../src/index.ts";
import { type Conversation, readTranscripts } from "./conversations.ts";
import { type EntireEntry, entireInput, readEntireSessions } from "./recall-data.ts";

/** A compaction in a session, and what the work after it used again that its summary does not say. */
export interface Compaction {
  sessionId: string;
  before: MessageInput[];
  summary: MessageInput[];
  gold: Gold;
}

/** What the next calls used again and the agent's summary lacks. */
export interface Gold {
  /** Lines of their arguments, and of what the assistant said between them. */
  lines: ReadonlySet<string>;
  commands: ReadonlySet<string>;
  /** Base names. */
  files: ReadonlySet<string>;
}

const CALLS_AHEAD = 30;
const LINE_CHARS_MIN = 20;
const LINE_CHARS_MAX = 400;
const COMMAND_CHARS_MIN = 8;
/** A line in more than this share of the sessions belongs to a form or a program, not to the work. */
const COMMON_SHARE = 0.115;
const LINE_NUMBER = /^\s*\d+(?:→|\t)/;
const COMMAND_ARGUMENTS = ["command", "cmd", "script"];

/** Reads every compaction of the sessions of `entire/` and `transcripts/`. One that several files repeat counts once. */
export async function readCompactions(dataFolder: string): Promise<Compaction[]> {
  const entire = readEntireSessions(dataFolder).map(({ sid, messages }) => ({
    id: sid,
    messages: messages.filter(({ side }) => side !== true).map((entry) => entireInput(closed(entry))),
  }));
  const transcripts = join(dataFolder, "transcripts");
  const conversations = [...(existsSync(transcripts) ? await readTranscripts(transcripts) : []), ...entire];
  const isCommon = commonLines(conversations);
  const bySummary = new Map<string, { compaction: Compaction; callCount: number }>();
  for (const { id, messages } of conversations) {
    for (let from = 0; from < messages.length; from++) {
      if (!isSummary(messages[from]!)) continue;
      let to = from + 1;
      while (to < messages.length && isSummary(messages[to]!)) to++;
      const summary = messages.slice(from, to);
      const before = messages.slice(0, from);
      const after = nextCalls(messages.slice(to));
      const callCount = after.flatMap(callsOf).length;
      const key = summary.map(textOf).join("\n");
      // A resumed session repeats its past. The file that goes on longest is measured.
      if (callCount > (bySummary.get(key)?.callCount ?? 0)) {
        const gold = goldOf(before, after, key, isCommon);
        bySummary.set(key, { compaction: { sessionId: id, before, summary, gold }, callCount });
      }
      from = to - 1;
    }
  }
  return [...bySummary.values()].map(({ compaction }) => compaction);
}

/** Closes the arguments of a call, which are JSON that was cut, so that their lines are lines. */
function closed(entry: EntireEntry): EntireEntry {
  if (entry.kind !== "tool_call") return entry;
  // A cut may be inside an escape.
  const cut = entry.text.replace(/\\(?:u[0-9a-f]{0,3})?$/, "");
  const text = ["", '"}', "}", '"}]}', '"]}'].map((end) => cut + end).find(isJson);
  return { ...entry, text: text ?? entry.text };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isSummary({ metadata }: MessageInput): boolean {
  return metadata?.isCompactSummary === true;
}

/** Returns the messages up to the last of the next calls. */
function nextCalls(messages: readonly MessageInput[]): MessageInput[] {
  let count = 0;
  const end = messages.findIndex((message) => {
    count += callsOf(message).length;
    return count >= CALLS_AHEAD;
  });
  return messages.slice(0, end === -1 ? messages.length : end + 1);
}

function goldOf(
  before: readonly MessageInput[],
  after: readonly MessageInput[],
  summary: string,
  isCommon: (line: string) => boolean,
): Gold {
  const said = onOneLine(summary);
  const known = new Set(before.flatMap(linesOf));
  const ran = new Set(before.flatMap(commandsOf));
  const named = new Set(before.flatMap((message) => wordsOf(message).flatMap(baseNames)));
  const isLost = (text: string): boolean => !said.includes(text);
  // Results are what the calls found, and not what they used.
  const used = after.filter(({ role }) => role === "assistant");
  const lines = used.flatMap(linesOf).filter((line) => known.has(line) && isTelling(line) && !isCommon(line));
  const commands = used.flatMap(commandsOf).filter((command) => ran.has(command));
  const files = used.flatMap((message) => callsOf(message).flatMap(stringsIn).flatMap(baseNames));
  return {
    lines: new Set(lines.map(onOneLine).filter(isLost)),
    commands: new Set(commands.filter(isLost)),
    files: new Set(files.filter((name) => named.has(name) && isLost(name))),
  };
}

function commonLines(conversations: readonly Conversation[]): (line: string) => boolean {
  const counts = new Map<string, number>();
  for (const { messages } of conversations) {
    for (const line of new Set(messages.flatMap(linesOf))) counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return (line) => counts.get(line)! > 1 + COMMON_SHARE * conversations.length;
}

/** Returns true for a line that says something: see "Future lines" in the README of the data. */
function isTelling(line: string): boolean {
  if (line.length < LINE_CHARS_MIN || line.length > LINE_CHARS_MAX || !line.includes(" ")) return false;
  return (line.match(/\p{L}{3,}/gu) ?? []).length >= 3;
}

function linesOf(message: MessageInput): string[] {
  const lines = wordsOf(message).flatMap((text) => text.split("\n"));
  return lines.map((line) => line.replace(LINE_NUMBER, "").trim()).filter((line) => line !== "");
}

function commandsOf(message: MessageInput): string[] {
  return callsOf(message).flatMap((args) => {
    if (typeof args !== "object" || args === null) return [];
    return COMMAND_ARGUMENTS.flatMap((key) => {
      const value = (args as Record<string, unknown>)[key];
      const command = onOneLine(Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "");
      return command.length >= COMMAND_CHARS_MIN ? [command] : [];
    });
  });
}

function baseNames(text: string): string[] {
  return filesIn(text).map((path) => path.slice(path.lastIndexOf("/") + 1));
}

/** The arguments of a message's calls, without those that write a list of tasks. */
function callsOf(message: MessageInput): unknown[] {
  return partsOf(message).flatMap(({ type, name, args }) => {
    return type === "tool_call" && !/todo|plan/i.test(String(name)) ? [args] : [];
  });
}

/** Every text of a message: what was said, arguments, and results. */
export function wordsOf(message: MessageInput): string[] {
  const said = partsOf(message).flatMap(({ type, text, content }) => {
    if (type === "text") return [String(text)];
    return type === "tool_result" ? stringsIn(content) : [];
  });
  return [...said, ...callsOf(message).flatMap(stringsIn)];
}

function partsOf({ parts, content }: MessageInput): readonly { [field: string]: unknown }[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content ?? parts ?? []);
}

function textOf(message: MessageInput): string {
  return wordsOf(message).join("\n");
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

export function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
