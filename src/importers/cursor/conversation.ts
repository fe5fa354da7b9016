import type { JsonValue, Part } from "../../core/message.ts";
import { type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import { dataPartOf, resultPart, resultTextOf, textParts, thoughtParts } from "../file-parts.ts";
import { isObject, type JsonObject, valueIn } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

export interface Conversation {
  id: string;
  parent?: string;
  data: JsonObject;
  header: JsonObject;
  order: readonly string[];
  /** The messages themselves, in older versions. */
  inside: readonly JsonObject[];
  children: readonly string[];
}

/** A message, as Cursor calls it. */
export interface Bubble {
  line: number;
  id: string;
  value: JsonObject;
  isLast: boolean;
}

const USER = 1;
const ASSISTANT = 2;

export class ConversationTranslator extends Translator<Bubble, Conversation> {
  /** The messages of the model since the last prompt. */
  #reply: object = {};

  protected override read({ line, id, value, isLast }: Bubble): string | undefined {
    const { data } = this.given;
    if (value.type !== USER && value.type !== ASSISTANT) {
      return `message ${id}: type: expected 1 or 2, got ${JSON.stringify(value.type ?? null)}`;
    }
    if (isLast && data.status === "generating" && value.type === ASSISTANT && !this.file.isFinished) {
      return notYet(`message ${id} is still being written`);
    }
    const { modelName } = objectOf(objectOf(value.modelInfo).modelName ? value.modelInfo : data.modelConfig);
    const entries = value.type === USER ? promptEntries(line, id, value) : replyEntries(line, id, value, modelName);
    if (value.type === USER && entries.length > 0) this.#reply = {};
    for (const { message, ...entry } of entries) {
      const isReply = message.role === "assistant";
      this.open().add([{ message, ...entry, ...(isReply && { reply: this.#reply }) }]);
      // A result ends a call of the model.
      if (message.role === "tool") this.#reply = {};
    }
  }

  protected override session(): SessionFacts {
    const { id, parent, data, header } = this.given;
    const cwd = folderOf(header.workspaceIdentifier) ?? folderOf(data.workspaceIdentifier);
    return {
      externalId: id,
      source: "cursor",
      parentExternalId: parent,
      isSubagent: parent !== undefined,
      folder: cwd,
      title: stringOf(header.name) ?? stringOf(data.name),
      createdAtMs: millisecondsOf(data.createdAt),
      metadata: saidOf({ cwd, mode: data.unifiedMode }),
    };
  }
}

function folderOf(workspace: JsonValue | undefined): string | undefined {
  const { fsPath, path } = objectOf(objectOf(workspace).uri);
  return stringOf(fsPath) ?? stringOf(path);
}

function timeOf({ createdAt, timingInfo }: JsonObject): number | undefined {
  return millisecondsOf(createdAt) ?? millisecondsOf(objectOf(timingInfo).clientStartTime);
}

function promptEntries(line: number, id: string, bubble: JsonObject): MessageEntry[] {
  const words = stringOf(bubble.text) ?? plainText(bubble.richText);
  const images = objectsOf(bubble.images).map((image): Part => {
    const { data, mimeType, uuid, path } = image;
    if (typeof data !== "string") return dataPartOf({ image });
    return { type: "file", mediaType: stringOf(mimeType) ?? "image/png", data, ...saidOf({ uuid, path }) };
  });
  const parts = [...textParts(words), ...images];
  return parts.length === 0 ? [] : [messageEntry(line, "user", id, parts, timeOf(bubble))];
}

/** A message of the model has words, or a thought, or one call with its result. */
function replyEntries(line: number, id: string, bubble: JsonObject, model: JsonValue | undefined): MessageEntry[] {
  const { text, thinking, allThinkingBlocks, toolFormerData: tool, tokenCount } = bubble;
  const thoughts = [thinking, ...objectsOf(allThinkingBlocks)].flatMap((block): Part[] => {
    const { text: thought, thinking: older, signature } = objectOf(typeof block === "string" ? { text: block } : block);
    return thoughtParts(stringOf(thought) ?? older, saidOf({ signature: stringOf(signature) }));
  });
  const parts: Part[] = [...thoughts, ...textParts(text)];
  const call = isObject(tool) ? callOf(id, tool) : undefined;
  if (call !== undefined) parts.push(call.part);
  if (parts.length === 0) return [];
  const { inputTokens, outputTokens } = objectOf(tokenCount);
  const usage = inputTokens || outputTokens ? { inputTokens, outputTokens } : null;
  const time = timeOf(bubble);
  const entries = [messageEntry(line, "assistant", id, parts, time, saidOf({ model, usage: usage as JsonValue }))];
  if (call?.result !== undefined) entries.push(resultEntry(line, id, call.result, time));
  return entries;
}

function callOf(bubbleId: string, tool: JsonObject): { part: Part; result?: Part } | undefined {
  const { toolCallId: own, name: given, tool: number, rawArgs, params, result, status, userDecision } = tool;
  const name = stringOf(given) ?? (number === undefined || number === null ? undefined : String(number));
  if (name === undefined) return undefined;
  const toolCallId = stringOf(own) ?? bubbleId;
  const about = saidOf({ userDecision });
  const part: Part = { type: "tool_call", toolCallId, name, args: argsOf(rawArgs) ?? argsOf(params) ?? {}, ...about };
  const isError = status === "error";
  const words = resultTextOf(result);
  const isOver = words !== "" || isError || status === "completed" || status === "cancelled";
  if (!isOver) return { part };
  const content = words === "" && status === "cancelled" ? "cancelled" : words;
  return { part, result: resultPart(toolCallId, content, { name, isError: isError || undefined }) };
}

/** Arguments are JSON in a text. */
function argsOf(given: JsonValue | undefined): JsonValue | undefined {
  if (typeof given !== "string") return isObject(given) ? given : undefined;
  return given === "" ? undefined : valueIn(given, { text: given });
}

/** Returns the words in the state of an editor, as older versions keep a prompt. */
function plainText(richText: JsonValue | undefined): string {
  const state = typeof richText === "string" ? valueIn(richText, richText) : (richText ?? null);
  const wordsIn = (value: JsonValue): string => {
    const { type, text, children, root } = objectOf(value);
    const words = Array.isArray(children) ? children.map(wordsIn).join(type === "root" ? "\n" : "") : "";
    return `${stringOf(text) ?? ""}${words}${isObject(root) ? wordsIn(root) : ""}`;
  };
  return wordsIn(state).trim();
}
