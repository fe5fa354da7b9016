import { createHash } from "node:crypto";

/** Identifies an entry by its kind and a digest of its words. The key is equal for a file and for the store. */
export type EntryKey = string;

export interface FileEntries {
  /** How often each entry is in the file. A line that repeats another one's id counts once. */
  counts: Map<EntryKey, number>;
  /** The numbers of the lines that are not JSON. */
  damagedLines: number[];
}

type Json = Record<string, unknown>;

/**
 * Counts the user, assistant and tool entries of a transcript without the importers. It shares no code with them, and knows
 * only where a format keeps text, calls and results.
 */
export function entriesIn(text: string): FileEntries {
  const found: FileEntries = { counts: new Map(), damagedLines: [] };
  const seen = new Set<string>();
  const add = (name: string, key: EntryKey | undefined): void => {
    if (key === undefined || seen.has(`${name} ${key}`)) return;
    seen.add(`${name} ${key}`);
    found.counts.set(key, (found.counts.get(key) ?? 0) + 1);
  };
  const whole = parsed(text);
  if (Array.isArray(whole?.messages)) {
    for (const message of whole.messages as Json[]) addGemini(message, add);
    return found;
  }
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = parsed(line);
    if (value === undefined) found.damagedLines.push(index + 1);
    else if (isObject(value.message)) addClaude(value, add);
    else if (typeof value.id === "string" && (value.type === "user" || value.type === "gemini")) addGemini(value, add);
    else if (value.type === "response_item" && isObject(value.payload)) addCodex(value.payload, index, add);
    else if (value.type === "content" && isObject(value.payload)) addLlxprt(value.payload, index, add);
  }
  return found;
}

/** Returns the entry of a part of a stored message. */
export function entryOfPart(part: Json): EntryKey | undefined {
  switch (part.type) {
    case "text":
    case "reasoning":
      return wordsKey(part.text);
    case "tool_call":
      return `call ${part.toolCallId}`;
    case "tool_result":
      return `result ${part.toolCallId}`;
    case "file":
      return typeof part.data === "string" ? `file ${digest(part.data)}` : undefined;
    default:
      return undefined;
  }
}

type Add = (name: string, key: EntryKey | undefined) => void;

function addClaude({ uuid, type, message }: Json, add: Add): void {
  if (type !== "user" && type !== "assistant") return;
  const { content } = message as Json;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) return;
  for (const [index, block] of (blocks as Json[]).entries()) {
    const name = `${uuid} ${index}`;
    if (block.type === "text") add(name, wordsKey(block.text));
    else if (block.type === "thinking") add(name, wordsKey(block.thinking));
    else if (block.type === "tool_use") add("", `call ${block.id}`);
    else if (block.type === "tool_result") add("", `result ${block.tool_use_id}`);
    else if (isObject(block.source)) add(name, `file ${digest(block.source.data)}`);
  }
}

function addGemini({ id, type, content, toolCalls, thoughts }: Json, add: Add): void {
  if (type !== "user" && type !== "gemini") return;
  const parts = typeof content === "string" ? [{ text: content }] : content;
  for (const part of Array.isArray(parts) ? (parts as Json[]) : []) add(String(id), wordsKey(part.text));
  for (const { subject, description } of Array.isArray(thoughts) ? (thoughts as Json[]) : []) {
    add(String(id), wordsKey([subject, description].filter(Boolean).join("\n\n")));
  }
  for (const call of Array.isArray(toolCalls) ? (toolCalls as Json[]) : []) {
    add("", `call ${call.id}`);
    if (Array.isArray(call.result) && call.result.length > 0) add("", `result ${call.id}`);
  }
}

function addCodex({ type, content, call_id: id }: Json, index: number, add: Add): void {
  if (type === "message") {
    for (const block of Array.isArray(content) ? (content as Json[]) : []) add(String(index), wordsKey(block.text));
  } else if (typeof id === "string") add("", `${String(type).endsWith("_output") ? "result" : "call"} ${id}`);
}

function addLlxprt({ content }: Json, index: number, add: Add): void {
  const blocks = isObject(content) && Array.isArray(content.blocks) ? (content.blocks as Json[]) : [];
  for (const block of blocks) {
    if (block.type === "tool_call") add("", `call ${block.id}`);
    else if (block.type === "tool_response") add("", `result ${block.callId}`);
    else add(String(index), wordsKey(block.text ?? block.thought ?? block.code));
  }
}

function wordsKey(words: unknown): EntryKey | undefined {
  return typeof words === "string" && words !== "" ? `words ${digest(words)}` : undefined;
}

function digest(words: unknown): string {
  return createHash("sha256").update(String(words)).digest("hex").slice(0, 24);
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
