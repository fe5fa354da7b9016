import type { DataPart, FilePart, JsonValue, Part, Role, TextPart } from "../core/message.ts";
import { type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headEntries } from "./documents.ts";
import { dataPartOf, filePartOf, resultTextOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { draftsOfTurn, type StepItem } from "./steps.ts";
import { type Draft, draftOf } from "./thread.ts";
import { objectOf, saidOf, stringOf } from "./values.ts";

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant"] satisfies Role[]);

/**
 * `UIMessage`s of Vercel's AI SDK, versions 4 to 6, as programs keep them: a list, an object with such a list in `messages`,
 * or either on each line. A message of the assistant holds a whole turn, calls with their results; here it is taken apart
 * into the messages of its steps.
 */
export const aiSdk: Importer = {
  format: "ai-sdk",

  detect(head) {
    for (const { key, value } of headEntries(head)) {
      const { session, role, parts, toolInvocations } = objectOf(messageOf(key, value));
      if (session !== undefined || !ROLES.has(role)) continue;
      if (Array.isArray(toolInvocations)) return true;
      if (Array.isArray(parts) && parts.some((part) => isObject(part) && stringOf(part.type))) return true;
    }
    return false;
  },

  read: (file) => readConversations(file, { format: "ai-sdk", messageOf, draftsOf }),
};

function messageOf(key: string | undefined, item: JsonValue): JsonValue | undefined {
  return key === undefined || key === "messages" ? item : undefined;
}

function draftsOf({ line, id, value }: ListedMessage): Draft[] | string {
  const { role, parts, content, toolInvocations, experimental_attachments: attachments, ...rest } = value;
  if (!ROLES.has(role)) return `role: expected one of ${[...ROLES].join(", ")}`;
  const listed = Array.isArray(parts) ? parts : partsOfVersion4(content, toolInvocations);
  if (listed.length === 0 && !Array.isArray(parts)) return "parts: expected a list";
  const files = (Array.isArray(attachments) ? attachments : []).map(
    (file): JsonValue => ({ type: "file", ...objectOf(file) }),
  );
  const { id: _, createdAt, metadata, ...more } = rest;
  const about = {
    createdAt: timeOf({ ...objectOf(metadata), ...value }),
    metadata: saidOf({ ...objectOf(metadata), ...more }),
  };
  if (role === "assistant") return draftsOfTurn(line, id, [...listed, ...files].map(itemOf), about);
  return [draftOf(line, role as Role, id, [...listed, ...files].map(plainPartOf), about)];
}

/** Before messages had parts, their words stood in `content` and their calls beside it. */
function partsOfVersion4(content: JsonValue | undefined, invocations: JsonValue | undefined): JsonValue[] {
  const words: JsonValue[] = stringOf(content) === undefined ? [] : [{ type: "text", text: content as string }];
  const calls = (Array.isArray(invocations) ? invocations : []).map(
    (toolInvocation): JsonValue => ({ type: "tool-invocation", toolInvocation }),
  );
  // What the model says with its calls' results at hand stands behind them.
  return [...calls, ...words];
}

function itemOf(listed: JsonValue): StepItem {
  const { type, text, reasoning, ...fields } = objectOf(listed);
  if (type === "step-start") return "end";
  const thought = text ?? reasoning;
  if (type === "reasoning" && typeof thought === "string") {
    const { state: _, ...rest } = fields;
    return { part: { type, ...rest, text: thought } };
  }
  if (type === "tool-invocation") {
    const { args, result, state, ...call } = objectOf(fields.toolInvocation);
    const output = state === "result" ? { state: "output-available", output: result ?? null } : {};
    return toolItemOf(stringOf(call.toolName), { ...call, input: args ?? null, ...output }, listed);
  }
  if (type === "dynamic-tool") return toolItemOf(stringOf(fields.toolName), { ...fields, isDynamic: true }, listed);
  if (typeof type === "string" && type.startsWith("tool-")) return toolItemOf(type.slice(5), fields, listed);
  return { part: plainPartOf(listed) };
}

function toolItemOf(name: string | undefined, fields: JsonObject, listed: JsonValue): StepItem {
  const { toolCallId: id, toolName: _, input, rawInput, output, errorText, state, ...rest } = fields;
  if (!stringOf(id) || name === undefined || name === "") return { part: dataPartOf(listed) };
  const toolCallId = id as string;
  const part: Part = { type: "tool_call", ...saidOf(rest), toolCallId, name, args: input ?? rawInput ?? {} };
  if (state === "output-available" && rest.preliminary !== true) {
    return { part, result: { type: "tool_result", toolCallId, name, content: resultTextOf(output) } };
  }
  if (state === "output-error" || state === "output-denied") {
    const content = stringOf(errorText) ?? (state === "output-denied" ? "The user did not allow this call." : "error");
    return { part, result: { type: "tool_result", toolCallId, name, content, isError: true } };
  }
  return { part };
}

function plainPartOf(listed: JsonValue): TextPart | FilePart | DataPart {
  const { type, text, url, data, mediaType, mimeType, contentType, filename, name, ...fields } = objectOf(listed);
  if (type === "text" && typeof text === "string") {
    // Whether it is still streamed: the same words are the same part before and after.
    const { state: _, ...rest } = fields;
    return { type, ...rest, text };
  }
  if (type === "file") {
    const media = stringOf(mediaType) ?? stringOf(mimeType) ?? stringOf(contentType);
    const about = saidOf({ ...fields, name: filename ?? name ?? null });
    if (typeof url === "string") return filePartOf(url, media, about);
    if (typeof data === "string") return { type, ...about, mediaType: media ?? "application/octet-stream", data };
  }
  return dataPartOf(listed);
}
