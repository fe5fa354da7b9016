import type { Content } from "@google/genai";
import { toGemini } from "../../adapters/gemini.ts";
import { keep, ownOf } from "../../adapters/shared/own.ts";
import type { FilePart, JsonValue, Part, ToolCallPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import type { ChatMessage } from "../chat-model.ts";
import { type Redact, redacted } from "../prompt-text.ts";
import type { GeminiSettings } from "./options.ts";

/** Google documents this replacement for the signature of a call that another model made. */
const NO_SIGNATURE = "skip_thought_signature_validator";

const SIGNING_MODEL = /\bgemini-(?:[3-9]|\d\d)/;

/** Gemini reads these media types. Any other, such as `image/gif`, would make it refuse every request with this context. */
const READABLE = new RegExp(
  `^(?:${[
    "image/(?:png|jpeg|webp|heic|heif)",
    "application/pdf",
    "text/(?:plain|html|css|csv|xml|markdown|rtf|javascript)",
    "audio/(?:wav|mp3|mpeg|aiff|aac|ogg|flac)",
    "video/(?:mp4|mpeg|mpg|mov|quicktime|avi|x-flv|webm|wmv|3gpp)",
  ].join("|")})$`,
  "i",
);

const NO_TEXT = "…"; // Gemini refuses an empty text

/**
 * Converts a rendered context for a chat with Gemini. Unlike `toGemini`, it leaves out or replaces everything that must not be
 * sent or that Gemini would refuse:
 *
 * - `redact` gets each text whole: message texts, strings in arguments, and tool results.
 * - Reasoning is not sent. Signatures and ids are sent only to the model that made them.
 * - Files of the user that Gemini can read are sent with their bytes, unless there is a `redact`, which cannot read bytes. Other
 *   files are sent as their name, type and size.
 * - Unpaired surrogates are replaced. A call without a result gets a result that says so.
 *
 * @throws {StoreError} `REDACT_FAILED`.
 */
export function contentsOf(
  messages: readonly ChatMessage[],
  { model, redact }: Pick<GeminiSettings, "model" | "redact">,
): { system: string[]; contents: Content[] } {
  const said = messages.filter(({ role }) => role !== "system");
  const sent = said.flatMap((message, index): ChatMessage[] => {
    const isOwn = message.metadata?.model === model;
    const parts = message.parts.flatMap((part) => sendablePart(part, message.role, isOwn, redact));
    const { role } = message;
    return [{ role, parts }, ...interruptedResults(message, said.slice(index + 1))];
  });
  const options = SIGNING_MODEL.test(model) ? { missingSignature: NO_SIGNATURE } : {};
  return {
    system: messages.flatMap(({ role, parts }) =>
      role === "system" ? [parts.map((part) => textOf(part, redact)).join("\n")] : [],
    ),
    contents: toGemini(sent, options).contents,
  };
}

function sendablePart(part: Part, role: ChatMessage["role"], isOwn: boolean, redact: Redact | undefined): Part[] {
  const { fields, form } = ownOf(part, "gemini");
  const own = isOwn ? fields : {};
  switch (part.type) {
    case "reasoning":
      return [];
    case "tool_call": {
      const args = redactedValue((part.args ?? {}) as JsonValue, redact);
      const { toolCallId, name } = part;
      const id = isOwn ? form.id : "absent";
      return [{ type: "tool_call", toolCallId, name, args, ...keep("gemini", own, { id }) }];
    }
    case "tool_result": {
      const { toolCallId, isError } = part;
      return [{ type: "tool_result", toolCallId, content: textOf(part, redact), ...(isError && { isError }) }];
    }
    default: {
      const file = role === "user" && redact === undefined && part.type === "file" ? readableFile(part) : undefined;
      return [file ?? { type: "text", text: textOf(part, redact) || NO_TEXT, ...keep("gemini", own) }];
    }
  }
}

function readableFile({ mediaType: written, data, name }: FilePart): FilePart | undefined {
  // Many programs write `image/jpg`, which Gemini refuses.
  const mediaType = written.replace(/^image\/jpg$/i, "image/jpeg");
  if (data === undefined || !READABLE.test(mediaType)) return undefined;
  return { type: "file", mediaType, data, ...(name !== undefined && { name }) };
}

/** Makes a result for each call of a message that the following tool messages do not answer. */
function interruptedResults({ parts }: ChatMessage, later: readonly ChatMessage[]): ChatMessage[] {
  const end = later.findIndex(({ role }) => role !== "tool");
  const answers = later.slice(0, end === -1 ? later.length : end).flatMap((message) => message.parts);
  const answered = new Set(answers.map((part) => part.type === "tool_result" && part.toolCallId));
  const open = parts.filter(
    (part): part is ToolCallPart => part.type === "tool_call" && !answered.has(part.toolCallId),
  );
  const content = "Interrupted: this call has no result.";
  return open.map(({ toolCallId }) => {
    return { role: "tool", parts: [{ type: "tool_result", toolCallId, content, isError: true }] };
  });
}

function textOf(part: Part, redact: Redact | undefined): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return sendable(part.text, redact);
    case "tool_result":
      if (typeof part.content === "string") return sendable(part.content, redact);
      return part.content.map((item) => textOf(item, redact)).join("\n");
    case "file":
      return sendable(`[file ${describeFile(part)}]`, redact);
    case "data":
      return sendable(JSON.stringify(part.data) ?? "", redact);
    case "tool_call":
      return sendable(`[call ${part.name}]`, redact);
  }
}

function redactedValue(value: JsonValue, redact: Redact | undefined): JsonValue {
  if (typeof value === "string") return sendable(value, redact);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redactedValue(item, redact));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), redactedValue(item, redact)]),
  );
}

/** Applies `redact`, and replaces unpaired surrogates, which UTF-8 cannot encode. They come from agents that cut texts. */
function sendable(text: string, redact: Redact | undefined): string {
  return redacted(text, redact).toWellFormed();
}
