import type { JsonValue, Part, Role } from "../core/message.ts";
import { timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { type ExportedNode, readExport } from "./exported-conversations.ts";
import { dataPartOf, type PlainPart, resultContentOf, resultPart, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { isObject, type JsonObject, valueIn } from "./lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads the `conversations.json` of an account export of ChatGPT: a list of conversations, each with its messages in `mapping`. A
 * conversation alone in a file is read too.
 */
export const chatgpt: Importer = {
  name: "chatgpt",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      if (key === undefined ? isConversation(value) : key === "mapping" && hasNodes(value)) return true;
    }
    return false;
  },

  read: (file) =>
    readExport(file, {
      name: "chatgpt",
      lists: [],
      isConversation,
      sessionOf(conversation) {
        const { id, conversation_id, title, create_time, default_model_slug: model, gizmo_id } = conversation;
        return {
          id: stringOf(conversation_id) ?? stringOf(id),
          title: stringOf(title),
          createdAtMs: timeOf({ created: create_time ?? null }),
          metadata: saidOf({ model, gizmo_id }),
        };
      },
      shownIn: ({ current_node }) => stringOf(current_node),
      nodesOf,
      reader,
    }),
};

function isConversation(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && hasNodes(value.mapping);
}

function hasNodes(mapping: JsonValue | undefined): boolean {
  return isObject(mapping) && Object.values(mapping).some((node) => isObject(node) && "message" in node);
}

function nodesOf({ mapping }: JsonObject): ExportedNode[] {
  const nodes = objectOf(mapping);
  const children = Object.values(nodes).flatMap((node) => objectOf(node).children ?? []);
  const keys = new Set([
    ...children.filter((key) => typeof key === "string" && Object.hasOwn(nodes, key)),
    ...Object.keys(nodes),
  ]);
  return [...keys].map((key) => {
    const { parent, message = null } = objectOf(nodes[key as string]);
    return { key: key as string, parent: stringOf(parent), value: message };
  });
}

/** The context that a node inherits from the nodes before it. */
interface PathState {
  reply: object;
  /** The newest call. ChatGPT gives calls no ids: the messages of a tool answer the call before them. */
  call?: { toolCallId: string; name: string } | undefined;
}

function reader(): (node: ExportedNode, line: number) => MessageEntry[] | string {
  const states = new Map<string, PathState>();
  return ({ key, parent, value }, line) => {
    const before = (parent === undefined ? undefined : states.get(parent)) ?? { reply: {} };
    states.set(key, before);
    // The first node of a conversation has no message.
    if (value === null) return [];
    if (!isObject(value) || !isObject(value.content)) return "expected a message with content";
    const { content, recipient } = value;
    const { role, name } = objectOf(value.author);
    const id = stringOf(value.id) ?? key;
    const say = (to: Role, parts: Part[]): MessageEntry[] => {
      if (parts.length === 0) return [];
      const entry = messageEntry(
        line,
        to,
        id,
        parts,
        timeOf({ created: value.create_time ?? null }),
        metadataOf(value),
      );
      if (to === "assistant") entry.reply = before.reply;
      return [entry];
    };
    switch (role) {
      case "assistant": {
        const tool = recipient === "all" ? undefined : stringOf(recipient);
        if (tool === undefined) {
          const parts = content.content_type === "thoughts" ? thoughtsOf(content) : partsOf(content);
          if (parts.some(({ type }) => type !== "reasoning")) states.set(key, { reply: before.reply });
          const isMemory = content.content_type === "model_editable_context";
          return say("assistant", isMemory ? injected(parts) : parts);
        }
        const call = { toolCallId: id, name: tool };
        states.set(key, { reply: before.reply, call });
        return say("assistant", [{ type: "tool_call", ...call, args: argsOf(content) }]);
      }
      case "tool": {
        const { toolCallId = id } = before.call ?? {};
        states.set(key, { reply: {}, call: before.call });
        const parts = partsOf(content);
        if (parts.length === 0) return [];
        const isError = content.content_type === "system_error" || undefined;
        return say("tool", [resultPart(toolCallId, resultContentOf(parts), { isError, name: stringOf(name) })]);
      }
      case "user":
      case "system": {
        states.set(key, { reply: {} });
        const parts = [...partsOf(content), ...attachmentsOf(value)];
        // A system message would stay in every context from now on.
        const isHidden = objectOf(value.metadata).is_visually_hidden_from_conversation === true;
        // The user's profile and instructions, which some exports do not mark as hidden.
        const isProfile = content.content_type === "user_editable_context";
        return say("user", role === "system" || isHidden || isProfile ? injected(parts) : parts);
      }
      default:
        return `author.role: expected user, assistant, system or tool, got ${JSON.stringify(role ?? null)}`;
    }
  };
}

/** Code for a tool is often JSON. */
function argsOf(content: JsonObject): JsonValue {
  const { text, parts, language } = content;
  const words = typeof text === "string" ? text : textsIn(parts).join("\n");
  const code = saidOf({ language: language === "unknown" ? null : language, text: words });
  return words.trimStart().startsWith("{") ? valueIn(words, code) : code;
}

function thoughtsOf(content: JsonObject): Part[] {
  return objectsOf(content.thoughts).flatMap(({ summary, content: thought }): Part[] => {
    const text = [summary, thought].filter((words) => stringOf(words)).join("\n\n");
    return text === "" ? [] : [{ type: "reasoning", text }];
  });
}

function partsOf(content: JsonObject): PlainPart[] {
  const {
    content_type: type,
    parts,
    text,
    result,
    title,
    url,
    user_profile,
    user_instructions,
    model_set_context,
  } = content;
  switch (type) {
    case "text":
    case "multimodal_text":
      return Array.isArray(parts) ? parts.flatMap(partOf) : [dataPartOf(content)];
    case "code":
    case "execution_output":
    case "system_error":
    case "citable_code_output":
    case "computer_output":
      return typeof text === "string" ? textParts(text) : [dataPartOf(content)];
    case "tether_quote":
    case "sonic_webpage":
      return [title, url, text].flatMap(textParts);
    case "tether_browsing_display":
      return typeof result === "string" ? textParts(result) : [dataPartOf(content)];
    case "user_editable_context":
      return [user_profile, user_instructions].flatMap(textParts);
    case "model_editable_context":
      return textParts(model_set_context);
    // How long the model thought.
    case "reasoning_recap":
      return [];
    default:
      return [dataPartOf(content)];
  }
}

function textsIn(parts: JsonValue | undefined): string[] {
  return Array.isArray(parts) ? parts.filter((part) => typeof part === "string") : [];
}

function partOf(part: JsonValue): PlainPart[] {
  if (typeof part === "string") return textParts(part);
  if (!isObject(part)) return part === null ? [] : [dataPartOf(part)];
  const { content_type: type, asset_pointer: url, text, ...about } = part;
  if (type === "audio_transcription" && typeof text === "string") return partOf(text);
  const [, kind] = /^(image|audio)_asset_pointer$/.exec(String(type)) ?? [];
  if (kind === undefined || typeof url !== "string" || url === "") return [dataPartOf(part)];
  return [{ type: "file", mediaType: `${kind}/*`, url, ...saidOf(about) }];
}

/** Returns the files that the user attached. Images are in the content already. */
function attachmentsOf({ content, metadata }: JsonObject): PlainPart[] {
  const shown = JSON.stringify(objectOf(content).parts ?? null);
  return objectsOf(objectOf(metadata).attachments).flatMap(({ id, name, mime_type, mimeType }) => {
    const isShown = stringOf(id) !== undefined && shown.includes(id as string);
    if (isShown || (stringOf(id) ?? stringOf(name)) === undefined) return [];
    const mediaType = stringOf(mime_type) ?? stringOf(mimeType) ?? "application/octet-stream";
    const url = stringOf(id) && `file-service://${id}`;
    return [{ type: "file", mediaType, ...saidOf({ url, name: stringOf(name) }) }];
  });
}

function metadataOf({ metadata, status, channel, content }: JsonObject): JsonObject {
  const {
    model_slug: model,
    finish_details,
    gizmo_id,
    citations,
    content_references,
    attachments,
  } = objectOf(metadata);
  const { content_type } = objectOf(content);
  return saidOf({
    model,
    status: status === "finished_successfully" ? null : status,
    channel,
    content_type: content_type === "text" ? null : content_type,
    finish_details,
    gizmo_id,
    citations,
    content_references,
    attachments,
  });
}
