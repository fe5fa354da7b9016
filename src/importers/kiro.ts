import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf, timeOf } from "./conversations.ts";
import { type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import { callPart, dataPartOf, filePartOf, resultPart, resultTextOf, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { headObjects, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, listOf, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const KINDS: ReadonlySet<unknown> = new Set(["Prompt", "AssistantMessage", "ToolResults"]);

const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "interaction_resolved",
  "pending_interaction",
  "session_start",
  "steering_inclusion",
  "turn_end",
  "turn_start",
  "usage_summary",
]);

/**
 * Reads the sessions of Kiro's CLI: `~/.kiro/sessions/cli/<session>.jsonl`, and `~/.kiro/sessions/<folder>/<session>/messages.jsonl`
 * of newer versions. What the file beside it tells is added.
 */
export const kiro: Importer = {
  name: "kiro",
  isFollowable: true,

  detect: (head) =>
    headObjects(head).some(({ kind, data, payload, timestamp }) => {
      if (KINDS.has(kind)) return Array.isArray(objectOf(data).content);
      const { type, content, toolCallId } = objectOf(payload);
      const isOfTurn =
        type === "user" || type === "assistant"
          ? typeof content === "string"
          : type === "tool_call" && stringOf(toolCallId);
      return stringOf(timestamp) !== undefined && Boolean(isOfTurn) && kind === undefined;
    }),

  read: (file) => new KiroTranslator(file).translate(readJsonLines(file)),
};

class KiroTranslator extends Translator<JsonLine> {
  #time: number | undefined;
  #reply: object = {};

  protected override read({ value, line }: JsonLine): MessageEntry[] | string | undefined {
    return value.payload === undefined ? this.#ofKind(value, line) : this.#ofType(value, line);
  }

  #ofKind({ kind, data, version }: JsonObject, line: number): MessageEntry[] | string {
    if (version !== undefined && version !== "v1") return `expected version v1, got ${JSON.stringify(version)}`;
    const { message_id, content, meta } = objectOf(data);
    this.#time = timeOf(objectOf(meta)) ?? this.#time;
    const id = stringOf(message_id) ?? derivedId(kind, content, this.#time);
    const blocks = objectsOf(content);
    if (kind === "ToolResults") {
      return blocks.flatMap((block) => {
        const { toolUseId, content: given, status } = objectOf(block.data);
        const toolCallId = stringOf(toolUseId);
        if (toolCallId === undefined) return [];
        const texts = objectsOf(given).map((one) => resultTextOf(one.data));
        const isError = status === "error" || undefined;
        return [resultEntry(line, id, resultPart(toolCallId, texts.join("\n"), { isError }), this.#time)];
      });
    }
    if (!KINDS.has(kind)) return `unknown kind of record: ${JSON.stringify(kind ?? null)}`;
    const parts = blocks.flatMap(partsOf);
    return parts.length === 0
      ? []
      : [messageEntry(line, kind === "Prompt" ? "user" : "assistant", id, parts, this.#time)];
  }

  #ofType({ id, timestamp, payload }: JsonObject, line: number): MessageEntry[] | string | undefined {
    const { type, content, operationType, toolCallId, toolName, args, success } = objectOf(payload);
    const time = millisecondsOf(timestamp);
    const key = derivedId(id, timestamp, payload);
    if (type === "tool_result" && stringOf(toolCallId)) {
      const isError = success === false || undefined;
      const result = resultPart(toolCallId as string, resultTextOf(content), { isError });
      this.#reply = {};
      return [messageEntry(line, "tool", key, [result], time)];
    }
    if (type === "tool_call" && stringOf(toolCallId)) {
      const call = callPart(toolCallId, stringOf(toolName) ?? "tool", args, null);
      return [{ ...messageEntry(line, "assistant", key, [call], time), reply: this.#reply }];
    }
    if (type !== "user" && type !== "assistant") {
      return BOOKKEEPING.has(type) ? undefined : `unknown type of record: ${JSON.stringify(type ?? null)}`;
    }
    const texts = listOf(content).flatMap((one) => stringOf(one) ?? stringOf(objectOf(one).text) ?? []);
    const kind = operationType === "Reasoning" ? ("reasoning" as const) : ("text" as const);
    const parts = texts.map((text): Part => ({ type: kind, text }));
    if (parts.length === 0) return [];
    if (type === "user") this.#reply = {};
    const entry = messageEntry(line, type, key, parts, time);
    return [type === "user" ? entry : { ...entry, reply: this.#reply }];
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const name = basename(path, ".jsonl");
    const isOfFolder = name === "messages";
    const isId = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/.test(name);
    const beside = isOfFolder ? join(dirname(path), "session.json") : path.replace(/\.jsonl$/, ".json");
    const { cwd, title, modelId, parent_session_id, session_state } = objectOf(
      beside === path ? undefined : jsonAt(beside),
    );
    const { model_info } = objectOf(objectOf(session_state).rts_model_state);
    return {
      externalId: isOfFolder ? basename(dirname(path)) : isId ? name : fileNameOf(path),
      source: "kiro",
      parentExternalId: stringOf(parent_session_id),
      folder: stringOf(cwd),
      title: stringOf(title),
      metadata: saidOf({ cwd, model: modelId ?? objectOf(model_info).model_id }),
    };
  }
}

function partsOf({ kind, data }: JsonObject): Part[] {
  if (kind === "text") return textParts(data);
  const { toolUseId, name, input, text, format, source } = objectOf(data);
  if (kind === "toolUse" && stringOf(toolUseId)) {
    return [callPart(toolUseId, stringOf(name) ?? "tool", input, null)];
  }
  if ((kind === "thinking" || kind === "reasoning") && typeof text === "string") return [{ type: "reasoning", text }];
  const image = stringOf(objectOf(source).data);
  if (kind === "image" && image !== undefined)
    return [filePartOf(`data:image/${format ?? "png"};base64,${image}`, "image/*")];
  return [dataPartOf({ kind: kind ?? null, data: (data ?? null) as JsonValue })];
}
