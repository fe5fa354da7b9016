import type { JsonValue } from "../core/message.ts";
import type { JsonObject } from "./lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const STATES: Record<string, string> = {
  "partial-call": "input-streaming",
  call: "input-available",
  result: "output-available",
};

/** Converts a `UIMessage` of version 4 of the AI SDK to versions 5 and 6. Newer messages are returned unchanged. */
export function modernMessage(message: JsonObject): JsonObject {
  const { parts, content, toolInvocations, experimental_attachments: attachments, ...fields } = message;
  if (!Array.isArray(parts) && stringOf(content) === undefined && toolInvocations === undefined) return message;
  const listed = Array.isArray(parts) ? parts : partsOf(content, toolInvocations);
  const files = objectsOf(attachments).map((file) => modernPart({ type: "file", ...file }));
  return { ...fields, parts: [...listed.map(modernPart), ...files] };
}

function partsOf(content: JsonValue | undefined, invocations: JsonValue | undefined): JsonValue[] {
  const words: JsonValue[] = stringOf(content) === undefined ? [] : [{ type: "text", text: content! }];
  const calls = objectsOf(invocations).map((toolInvocation) => ({ type: "tool-invocation", toolInvocation }));
  // The model wrote the text after it got the results of its calls.
  return calls.length > 0 && words.length > 0 ? [...calls, { type: "step-start" }, ...words] : [...calls, ...words];
}

function modernPart(part: JsonValue): JsonValue {
  const { type, ...fields } = objectOf(part);
  const { toolName, state, args, result, ...call } = objectOf(fields.toolInvocation);
  if (type === "tool-invocation" && stringOf(toolName) && stringOf(call.toolCallId)) {
    const output = state === "result" ? { output: result ?? null } : {};
    return {
      type: `tool-${toolName}`,
      ...call,
      state: STATES[String(state)] ?? "input-available",
      input: args ?? {},
      ...output,
    };
  }
  if (type === "reasoning" && typeof fields.reasoning === "string") {
    const { reasoning: text, ...rest } = fields;
    return { type, text: text!, ...rest };
  }
  if (type === "file" && fields.mediaType === undefined) {
    const { data, url, mimeType, contentType, name, ...rest } = fields;
    const mediaType = stringOf(mimeType) ?? stringOf(contentType) ?? "application/octet-stream";
    const held = typeof data === "string" ? `data:${mediaType};base64,${data}` : (url ?? null);
    return { type, mediaType, url: held, ...saidOf({ filename: name }), ...rest };
  }
  return part;
}
