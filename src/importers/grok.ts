import { closeSync, openSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf } from "./conversations.ts";
import { messageEntry } from "./entry.ts";
import { dataPartOf, filePartOf, functionCallOf, resultContentOf, resultPart, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected, wordsWithin } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines, valueIn } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, listOf, millisecondsOf, objectOf, saidOf, stringOf } from "./values.ts";

/** Grok itself writes these elements at the beginning of a user's text, and marks them in no other way. */
const OF_PROGRAM = /^\s*<(?:user_info|system-reminder)>/;

const SUMMARY = /^\s*This session is being continued from /;

/**
 * Reads the sessions of xAI's Grok: `~/.grok/sessions/<folder>/<session>/chat_history.jsonl`. Their times are in `updates.jsonl`, and
 * the rest about a session in `summary.json`. Grok writes the file again without what a rewind or a compaction takes out.
 */
export const grok: Importer = {
  name: "grok",
  isFollowable: true,

  detect: (head) =>
    headObjects(head).some(
      ({ type, content, message, uuid, role, session, synthetic_reason, prompt_index, model_id, tool_call_id }) => {
        // Lines of Claude Code, of OpenAI's messages and of neutral files look alike otherwise.
        if ([message, uuid, role, session].some((value) => value !== undefined)) return false;
        if (type === "assistant") return typeof content === "string" && stringOf(model_id) !== undefined;
        if (type === "tool_result") return typeof content === "string" && stringOf(tool_call_id) !== undefined;
        if (type !== "user") return false;
        const isMarked = stringOf(synthetic_reason) !== undefined || typeof prompt_index === "number";
        return isMarked || partsOf(content).some(({ text }) => /^<(?:user_info|user_query)>/.test(String(text)));
      },
    ),

  read: (file) => new GrokTranslator(file).translate(readJsonLines(file)),
};

/** Translates items. What the program told the model is marked as injected. */
class GrokTranslator extends Translator<JsonLine> {
  readonly #times = new UpdateLog(this.#beside("updates.jsonl"));
  /** The prompt that the items answer. Items have no ids, and the same one may come again in another turn. */
  #turn: JsonValue = null;
  #reply: object = {};

  protected override read({ value: item, line }: JsonLine): string | undefined {
    const { type, content, prompt_index } = item;
    if (type === "system") return undefined;
    if (typeof prompt_index === "number") this.#turn = prompt_index;
    const id = derivedId(this.#turn, item);
    if (type === "user") {
      const { type: _, content: __, ...about } = item;
      const { synthetic_reason: reason } = about;
      const parts = partsOf(content);
      const isSummary = reason === "compaction_meta" && parts.some(({ text }) => SUMMARY.test(String(text)));
      const isSaid = isSummary || reason === undefined || reason === "interjection";
      const said = parts.flatMap((part) =>
        !isSaid || OF_PROGRAM.test(String(part.text)) ? injected([part]) : wordsWithin("user_query", part),
      );
      const time = typeof prompt_index === "number" ? this.#times.of(`prompt ${prompt_index}`) : undefined;
      this.#reply = {};
      this.#add(line, "user", id, said, time, saidOf({ ...about, ...(isSummary && { isCompactSummary: true }) }));
    } else if (type === "assistant") {
      const { model_id, tool_calls, reasoning } = item;
      const calls = listOf(tool_calls).map(callOf);
      const times = calls.map((call) => this.#times.of(`call ${call.toolCallId}`));
      const parts = [...(isObject(reasoning) ? [thoughtOf(reasoning)] : []), ...partsOf(content), ...calls];
      this.#add(line, "assistant", id, parts, times[0], saidOf({ model: model_id }));
    } else if (type === "reasoning") this.#add(line, "assistant", id, [thoughtOf(item)]);
    else if (type === "backend_tool_call") this.#add(line, "assistant", id, [dataPartOf(item)]);
    else if (type === "tool_result") this.#addResult(item, line, id);
    else return `unknown type of item: ${JSON.stringify(type ?? null)}`;
  }

  #addResult(item: JsonObject, line: number, id: string): void {
    const { tool_call_id, content, images } = item;
    const said = resultContentOf([...partsOf(content), ...partsOf(images)]);
    const toolCallId = stringOf(tool_call_id) ?? id;
    const time = this.#times.of(`result ${toolCallId}`);
    const isError = this.#times.failed.has(toolCallId) || undefined;
    this.#reply = {};
    this.#add(line, "tool", id, [resultPart(toolCallId, said, { isError })], time);
  }

  #add(
    line: number,
    role: "user" | "assistant" | "tool",
    id: string,
    parts: Part[],
    time?: number,
    about: JsonObject = {},
  ): void {
    if (parts.length === 0) return;
    const reply = role === "assistant" ? { reply: this.#reply } : {};
    this.open().add([{ ...messageEntry(line, role, id, parts, time, about), ...reply }]);
  }

  protected override end(): void {
    const { generated_title, session_summary } = this.#summary();
    for (const branch of this.branches()?.all ?? []) {
      branch.title = stringOf(generated_title) ?? stringOf(session_summary);
    }
  }

  #summary(): JsonObject {
    return objectOf(jsonAt(this.#beside("summary.json")));
  }

  /** Returns the path of a file of the session's folder; "" for a transcript that was put elsewhere. */
  #beside(name: string): string {
    const { path } = this.file;
    return basename(path) === "chat_history.jsonl" ? join(dirname(path), name) : "";
  }

  protected override session(): SessionFacts {
    const [name, own, encoded] = this.file.path.split(/[\\/]/).reverse();
    const { info, created_at, parent_session_id, session_kind } = this.#summary();
    const isInFolder = name === "chat_history.jsonl" && own !== undefined;
    const folder = stringOf(objectOf(info).cwd) ?? (isInFolder ? folderNamed(encoded ?? "") : undefined);
    return {
      externalId: stringOf(objectOf(info).id) ?? (isInFolder ? own : fileNameOf(this.file.path)),
      source: "grok",
      parentExternalId: stringOf(parent_session_id),
      folder,
      createdAtMs: millisecondsOf(created_at),
      metadata: saidOf({ cwd: folder, kind: session_kind }),
    };
  }
}

/** Returns the folder after which the folder of its sessions is named. */
function folderNamed(encoded: string): string | undefined {
  try {
    return /^(?:%2F|\w%3A)/i.test(encoded) ? decodeURIComponent(encoded) : undefined;
  } catch {
    return undefined;
  }
}

function callOf(call: JsonValue): Part {
  if (!isObject(call)) return dataPartOf(call);
  const { name, arguments: args, ...rest } = call;
  return functionCallOf({ ...rest, function: saidOf({ name, arguments: args }) });
}

function partsOf(content: JsonValue | undefined): Part[] {
  return listOf(content).flatMap((block): Part[] => {
    const { type, text, url } = typeof block === "string" ? { type: "text", text: block } : objectOf(block);
    if (type === "text" && typeof text === "string") return textParts(text);
    return [type === "image" && stringOf(url) ? filePartOf(url as string, "image/*") : dataPartOf(block)];
  });
}

function thoughtOf({ summary, text, content, encrypted_content, encrypted }: JsonObject): Part {
  const words = [...listOf(summary), ...listOf(content)].map((one) => {
    return typeof one === "string" ? one : (stringOf(objectOf(one).text) ?? JSON.stringify(one));
  });
  const signature = encrypted_content ?? encrypted;
  return { type: "reasoning", text: stringOf(text) ?? words.join("\n\n"), ...saidOf({ signature }) };
}

/** Lines that are longer only repeat what was said. */
const UPDATE_CHARS_MAX = 1024 * 1024;

const UPDATE_CHUNK_BYTES = 1024 * 1024;

/** The log of what was shown, which tells when. It grows with the conversation, and is read on when a time is missing. */
class UpdateLog {
  readonly failed = new Set<string>();
  readonly #path: string;
  readonly #times = new Map<string, number>();
  #offset = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  of(what: string): number | undefined {
    if (!this.#times.has(what)) this.#readOn();
    return this.#times.get(what);
  }

  #readOn(): void {
    for (let bytes = bytesOf(this.#path, this.#offset); bytes.length > 0; bytes = bytesOf(this.#path, this.#offset)) {
      this.#offset += bytes.length;
      // The fields that are looked at are ASCII.
      const lines = (this.#rest + bytes.toString("latin1")).split("\n");
      this.#rest = lines.pop()!.slice(0, UPDATE_CHARS_MAX);
      for (const line of lines) if (/user_message_chunk|tool_call/.test(line)) this.#note(line);
    }
  }

  #note(line: string): void {
    const { timestamp, params } = objectOf(valueIn(line));
    const { sessionUpdate, toolCallId, status, _meta } = objectOf(objectOf(params).update);
    const time = typeof timestamp === "number" ? millisecondsOf(timestamp * 1_000) : undefined;
    if (time === undefined) return;
    const { promptIndex } = objectOf(_meta);
    if (sessionUpdate === "user_message_chunk") this.#times.set(`prompt ${promptIndex}`, time);
    if (!stringOf(toolCallId)) return;
    if (sessionUpdate === "tool_call") this.#times.set(`call ${toolCallId}`, time);
    if (status !== "completed" && status !== "failed") return;
    this.#times.set(`result ${toolCallId}`, time);
    if (status === "failed") this.failed.add(toolCallId as string);
  }
}

/** Returns the next bytes of a file; none at its end, or if it cannot be read. */
function bytesOf(path: string, offset: number): Buffer {
  const bytes = Buffer.allocUnsafe(UPDATE_CHUNK_BYTES);
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
  } catch {
    return bytes.subarray(0, 0);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
