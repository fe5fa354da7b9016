import { basename, dirname, join } from "node:path";
import { fromAiSdk } from "../adapters/ai-sdk.ts";
import { fromAnthropic } from "../adapters/anthropic.ts";
import type { JsonValue, Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { headElements, readDocument } from "./documents.ts";
import { adapted, entriesOf, type MessageEntry, messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, numberOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads the tasks of Cline and Roo Code, `globalStorage/<extension>/tasks/<task>/api_conversation_history.json`: a list of
 * Anthropic's messages, or `{ version: 2, messages }` with those of the AI SDK. What the files beside it tell is added.
 */
export const cline: Importer = {
  name: "cline",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      const { role, content, parts } = objectOf(value);
      if ((key !== undefined && key !== "messages") || role !== "user" || parts !== undefined) continue;
      if (textsIn(content).some((text) => TASK_MARKS.test(text))) return true;
    }
    return false;
  },

  read: (file) => new ClineTranslator(file, "cline").translate(readDocument(file)),
};

/** Reads the sessions of the Cline CLI, `~/.cline/data/sessions/<session>/<session>.messages.json`. */
export const clineCli: Importer = {
  name: "cline-cli",

  detect(head) {
    let hasVersion = false;
    let hasMessage = false;
    for (const { key, value } of headElements(head)) {
      const { role, content, parts } = objectOf(value);
      hasVersion ||= key === "version" && typeof value === "number";
      if (key !== "messages" || role !== "user" || parts !== undefined) continue;
      hasMessage ||= textsIn(content).some((text) => text.startsWith("<user_input "));
    }
    return hasVersion && hasMessage;
  },

  read: (file) => new ClineTranslator(file, "cline-cli").translate(readDocument(file)),
};

/** Matches a tag that the extensions write into the first message of a task. */
const TASK_MARKS = /^\s*<(?:task|user_message)>\n|<environment_details>\n/;

/** The opening tag of an element in which the words of the user stand. */
const SAID = /<(task|user_message|feedback|answer|user_input)(?:\s[^<>]*)?>\n?/g;

const NOTICE = { opening: "<mode_notice>", closing: "</mode_notice>" };

/** The heading of a result in a text, with the name of the tool. */
const RESULT = /^\[([\w.-]+)(?: for '[\s\S]*?')?\] Result:/;

/** Texts that the extensions write. */
const PROGRAM =
  /^\s*(?:\[(?:ERROR|TASK RESUMPTION)\]|Files attached by the user:\n|# ?(?:task_progress|TODO LIST)|<(?:explicit_instructions|file_content|folder_content)\b)/i;

/** The extensions write this if the user gave no words. */
const NO_WORDS = /^\(The user did not provide/;

const FOLDER = /^# Current (?:Working|Workspace) Directory \((.+)\) Files$/m;

/**
 * Translates a list of messages that is written anew each time. The extensions take messages off its end and put summaries between
 * them, so a message without an id is known by its time or its content, not by its place.
 */
class ClineTranslator extends Translator<Element, "cline" | "cline-cli"> {
  readonly #about: JsonObject = {};
  /** Messages so far, including those that cannot be read. */
  #count = 0;
  /** Calls of the newest reply that have no result yet. */
  #waiting: { id: string; name: string }[] = [];
  #times: Map<number, number> | undefined;
  #first: JsonObject | undefined;

  protected override skip(): void {
    this.#count++;
  }

  protected override isTelling({ key }: Element): boolean {
    return key === undefined || key === "messages";
  }

  protected override read({ line, key, value }: Element): MessageEntry[] | string | undefined {
    if (key !== undefined && key !== "messages") {
      this.#about[key] = value;
      return;
    }
    const index = this.#count++;
    if (!isObject(value)) return "expected a message, as an object";
    const entries = this.#entriesOf(value, line, index);
    if (typeof entries !== "string" && entries.length > 0) this.#first ??= value;
    return entries;
  }

  /** Returns what the program noted about the session beside its messages. */
  #described(): JsonObject {
    const { path } = this.file;
    const names = [path.replace(/\.messages\.json$/, ".json"), join(dirname(path), "history_item.json")];
    const name = names.find((one) => one !== path && isObject(jsonAt(one)));
    return name === undefined ? {} : objectOf(jsonAt(name));
  }

  #entriesOf(value: JsonObject, line: number, index: number): MessageEntry[] | string {
    const { id, ts, role, content, modelInfo, metrics, isSummary, isTruncationMarker } = value;
    const createdAt = millisecondsOf(ts) ?? this.#timeOf(index);
    const ownId = stringOf(id) ?? (numberOf(ts) === undefined ? derivedId(role, content) : String(ts));
    const { modelId, providerId, id: model, provider } = objectOf(modelInfo);
    const about = saidOf({
      model: modelId ?? model,
      provider: providerId ?? provider,
      usage: usageOf(objectOf(metrics)),
      cost: objectOf(metrics).cost,
      ...(isSummary === true && { isCompactSummary: true }),
    });
    if (role === undefined && value.type === "reasoning") {
      const { summary, type: _, ts: _t, ...rest } = value;
      const text = objectsOf(summary)
        .flatMap((one) => stringOf(one.text) ?? [])
        .join("\n\n");
      return [messageEntry(line, "assistant", ownId, [{ ...rest, type: "reasoning", text }], createdAt)];
    }
    const isProgram = isSummary === true || isTruncationMarker === true;
    const blocks = Array.isArray(content) ? this.#answered(content.map(blockOf), role) : content;
    const isOfAiSdk =
      role === "tool" || objectsOf(blocks).some(({ type }) => type === "tool-call" || type === "tool-result");
    const message = { role, content: blocks } as never;
    const said = adapted(() => (isOfAiSdk ? fromAiSdk(message) : fromAnthropic(message)));
    if (typeof said === "string") return said;
    const marked = said.map((one) => {
      if (one.role === "assistant" && one.parts.length > 0) this.#await(one.parts);
      return one.role === "user" && !isProgram ? { ...one, parts: wordsIn(one.parts) } : one;
    });
    return entriesOf(marked, line, ownId, createdAt, about);
  }

  #await(parts: readonly Part[]): void {
    this.#waiting = parts.flatMap((part) =>
      part.type === "tool_call" ? [{ id: part.toolCallId, name: part.name }] : [],
    );
  }

  /** Turns texts that are results of the newest calls into results. Cline wrote such texts even where the call had an id. */
  #answered(blocks: readonly JsonValue[], role: JsonValue | undefined): JsonValue[] {
    if (role !== "user") return [...blocks];
    const answered = new Set(objectsOf([...blocks]).map(({ tool_use_id }) => tool_use_id));
    const waiting = this.#waiting.filter(({ id }) => !answered.has(id));
    this.#waiting = [];
    let open: JsonValue[] | undefined;
    return blocks.flatMap((block): JsonValue[] => {
      const { type, text } = objectOf(block);
      const words = type === "text" && typeof text === "string" ? text : undefined;
      const name = words === undefined ? undefined : RESULT.exec(words)?.[1];
      // Some tools have another name in the heading of their result.
      const named = waiting.findIndex((call) => call.name === name);
      const at = name === undefined ? -1 : named === -1 && waiting.length === 1 ? 0 : named;
      const saidAt = words === undefined ? -1 : (saidIn(words)[0]?.at ?? -1);
      if (at !== -1) {
        const [call] = waiting.splice(at, 1);
        open = [{ type: "text", text: saidAt === -1 ? words! : words!.slice(0, saidAt) }];
        const result = { type: "tool_result", tool_use_id: call!.id, content: open };
        return saidAt === -1 ? [result] : [result, { type: "text", text: words!.slice(saidAt) }];
      }
      const isContent = type === "image" || (words !== undefined && saidAt === -1 && !isOfProgram(words));
      if (open !== undefined && isContent) {
        open.push(block);
        return [];
      }
      open = undefined;
      return [block];
    });
  }

  #timeOf(index: number): number | undefined {
    this.#times ??= timesBeside(this.file.path);
    return this.#times.get(index - 1);
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const folder = basename(dirname(path));
    const [, name] = /^(.+)\.messages\.json$/.exec(basename(path)) ?? [];
    const isPart = name !== undefined && name !== folder && basename(dirname(dirname(path))) === "sessions";
    const own = basename(path) === "api_conversation_history.json" ? folder : (name ?? fileNameOf(path));
    const externalId = isPart ? `${folder}/${name}` : own;
    const [, workedIn] = textsIn(this.#first?.content).flatMap((text) => FOLDER.exec(text) ?? []);
    const [, extension] = /[\\/]globalStorage[\\/]([^\\/]+)[\\/]tasks[\\/]/.exec(path) ?? [];
    const startedAt = /^\d{13}(?=$|_)/.exec(externalId)?.[0];
    const { parentTaskId, workspace, title, cwd, metadata, parent_session_id } = this.#described();
    return {
      externalId,
      source: this.given,
      parentExternalId: isPart ? folder : (stringOf(parentTaskId) ?? stringOf(parent_session_id)),
      folder: stringOf(workspace) ?? stringOf(cwd) ?? workedIn,
      title: stringOf(title) ?? stringOf(objectOf(metadata).title),
      createdAtMs: startedAt === undefined ? undefined : Number(startedAt),
      metadata: saidOf({ extension, agent: this.#about.agent }),
    };
  }
}

function textsIn(content: JsonValue | undefined): string[] {
  if (typeof content === "string") return [content];
  return objectsOf(content).flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
}

/** Returns a block in the form that Anthropic's has. */
function blockOf(block: JsonValue): JsonValue {
  const { type, ...rest } = objectOf(block);
  if (type === "reasoning" && typeof rest.text === "string") {
    const { text, ...fields } = rest;
    return { ...fields, type: "thinking", thinking: text };
  }
  if (type === "image" && typeof rest.data === "string") {
    const { data, mediaType, ...fields } = rest;
    return { ...fields, type, source: { type: "base64", media_type: mediaType ?? "image/png", data } };
  }
  if (type === "file" && typeof rest.content === "string") {
    return {
      type: "text",
      text: `<file_content path=${JSON.stringify(rest.path ?? "")}>\n${rest.content}\n</file_content>`,
    };
  }
  if (type === "tool_result" && Array.isArray(rest.content))
    return { ...rest, type, content: rest.content.map(blockOf) };
  return block;
}

function isOfProgram(text: string): boolean {
  return PROGRAM.test(text) || RESULT.test(text) || text.trimStart().startsWith("<environment_details>");
}

/** Returns where each element with words of the user begins in a text, and where the words begin and end. */
function saidIn(text: string): { at: number; from: number; to: number }[] {
  const said: { at: number; from: number; to: number }[] = [];
  const unclosed = new Set<string>();
  /** Returns where `closing` is next. A text without one is not looked through again. */
  const find = (closing: string, from: number): number => {
    const at = unclosed.has(closing) ? -1 : text.indexOf(closing, from);
    if (at === -1) unclosed.add(closing);
    return at;
  };
  let end = 0;
  for (const { 0: opening, 1: name, index: at } of text.matchAll(SAID)) {
    if (at < end) continue;
    let from = at + opening.length;
    const notice = text.startsWith(NOTICE.opening, from) ? find(NOTICE.closing, from) : -1;
    if (notice !== -1) from = notice + NOTICE.closing.length;
    const close = find(`</${name}>`, from);
    if (close === -1) continue;
    end = close;
    said.push({ at, from, to: close > from && text[close - 1] === "\n" ? close - 1 : close });
  }
  return said;
}

/** Marks all texts in a message of the user but the words of the user. Texts are split for this, word for word. */
function wordsIn(parts: readonly Part[]): Part[] {
  let isInResult = false;
  return parts.flatMap((part): Part[] => {
    if (part.type !== "text") return [part];
    const pieces: Part[] = [];
    const add = (text: string, isSaid: boolean): void => {
      if (text !== "") pieces.push(...(isSaid ? [{ ...part, text }] : injected([{ ...part, text }])));
    };
    let end = 0;
    for (const { from, to } of saidIn(part.text)) {
      const words = part.text.slice(from, to);
      add(part.text.slice(end, from), false);
      add(words, !NO_WORDS.test(words));
      end = to;
    }
    isInResult = end === 0 && (isInResult || RESULT.test(part.text));
    if (end === 0) return isInResult || isOfProgram(part.text) ? injected([part]) : [part];
    add(part.text.slice(end), false);
    return pieces;
  });
}

/** Returns the usage under the names that it has in Anthropic's replies. */
function usageOf({ tokens, ...metrics }: JsonObject): JsonObject {
  const { prompt, completion, cached } = objectOf(tokens);
  return saidOf({
    input_tokens: prompt ?? metrics.inputTokens,
    output_tokens: completion ?? metrics.outputTokens,
    cache_read_input_tokens: cached ?? metrics.cacheReadTokens,
    cache_creation_input_tokens: metrics.cacheWriteTokens,
  });
}

/** Returns when the model was asked after each message of a task, as far as `ui_messages.json` beside it tells. */
function timesBeside(path: string): Map<number, number> {
  const times = new Map<number, number>();
  if (basename(path) !== "api_conversation_history.json") return times;
  for (const { ts, conversationHistoryIndex: index } of objectsOf(jsonAt(join(dirname(path), "ui_messages.json")))) {
    const time = millisecondsOf(ts);
    if (typeof index === "number" && time !== undefined && !times.has(index)) times.set(index, time);
  }
  return times;
}
