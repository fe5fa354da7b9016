import type { Content, Part as GeminiPart } from "@google/genai";
import type { FilePart, JsonValue, Part, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import type { ChatMessage } from "../chat-model.ts";
import { type Redact, redacted } from "../prompt-text.ts";

/** Replaces the signature of a call that another model made, as Google documents. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/**
 * The media types that Gemini reads, by Google's documentation. It refuses requests with any other, such as `image/gif`, and
 * would refuse each request as long as the file is in the context.
 */
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

/** Characters that Gemini refuses in the name of a tool. */
const NOT_IN_NAMES = /[^\w.:-]/g;
const NAME_CHARS_MAX = 64;

/** Replaces an empty text, which Gemini refuses. */
const NO_TEXT = "…";

/** Matches models that refuse calls without a signature. */
const SIGNING_MODEL = /\bgemini-(?:[3-9]|\d\d)/;

interface ContentsOptions {
  /** The model that gets them. */
  model: string;
  redact: Redact | undefined;
}

export interface Contents {
  /** The text of each system message. */
  system: string[];
  contents: Content[];
}

/** Consecutive messages of one role. */
interface RoleRun {
  role: "user" | "assistant" | "tool";
  messages: ChatMessage[];
}

/**
 * Converts a rendered context for Gemini. Neighbors of one role become one content, because Gemini does not join them.
 * Results are put into the order of their calls, and a call without a result gets one that says so.
 *
 * Texts are sent unchanged, except for `redact` and for unpaired surrogates. `redact` sees each text whole: message texts, strings
 * in arguments, and tool results. Reasoning is not sent. Files of the user that Gemini can read are sent with their bytes,
 * unless there is a `redact`, which cannot look into them. All other files are sent as their name, type and size.
 *
 * @throws {StoreError} `REDACT_FAILED`.
 */
export function contentsOf(messages: readonly ChatMessage[], options: ContentsOptions): Contents {
  const system: string[] = [];
  const turns: RoleRun[] = [];
  for (const message of messages) {
    const { role, parts } = message;
    if (role === "system") {
      system.push(parts.map((part) => textOf(part, options.redact)).join("\n"));
      continue;
    }
    const last = turns.at(-1);
    if (last?.role === role) last.messages.push(message);
    else turns.push({ role, messages: [message] });
  }
  return { system, contents: turns.flatMap((turn, index) => turnContents(turn, turns[index + 1], options)) };
}

/** Results are converted together with their calls. */
function turnContents({ role, messages }: RoleRun, next: RoleRun | undefined, options: ContentsOptions): Content[] {
  if (role === "tool") return [];
  if (role === "user") {
    const parts = messages.flatMap((message) => message.parts.map((part) => userPart(part, options.redact)));
    return [{ role: "user", parts }];
  }
  const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool_call"));
  const model = { role: "model", parts: messages.flatMap((message) => modelParts(message, options)) };
  if (calls.length === 0) return [model];
  const results = next?.role === "tool" ? next.messages.flatMap(({ parts }) => parts.filter(isResult)) : [];
  return [model, { role: "user", parts: calls.map((call) => responseTo(call, results, options.redact)) }];
}

function userPart(part: Part, redact: Redact | undefined): GeminiPart {
  const bytes = redact === undefined && part.type === "file" ? inlineData(part) : undefined;
  return bytes ?? { text: textOf(part, redact) || NO_TEXT };
}

function inlineData({ mediaType, data }: FilePart): GeminiPart | undefined {
  // Many programs write `image/jpg`, which Gemini refuses.
  const mimeType = mediaType.replace(/^image\/jpg$/i, "image/jpeg");
  return data === undefined || !READABLE.test(mimeType) ? undefined : { inlineData: { mimeType, data } };
}

function modelParts({ parts, metadata }: ChatMessage, { model, redact }: ContentsOptions): GeminiPart[] {
  const isOwn = metadata?.model === model;
  const sent = parts.flatMap((part): GeminiPart[] => {
    if (part.type === "reasoning") return [];
    const { thoughtSignature } = part;
    const signed = isOwn && typeof thoughtSignature === "string" ? { thoughtSignature } : {};
    if (part.type !== "tool_call") return [{ text: textOf(part, redact) || NO_TEXT, ...signed }];
    return [
      {
        functionCall: { ...idOf(part), name: nameOf(part), args: redactedArgs(part.args as JsonValue, redact) },
        ...signed,
      },
    ];
  });
  // The signature of the first call counts for all calls of a step.
  const first = sent.find(({ functionCall }) => functionCall !== undefined);
  if (first !== undefined && first.thoughtSignature === undefined && SIGNING_MODEL.test(model)) {
    first.thoughtSignature = NO_SIGNATURE;
  }
  return sent;
}

/** Converts a call's result and removes it from `results`. */
function responseTo(call: ToolCallPart, results: ToolResultPart[], redact: Redact | undefined): GeminiPart {
  const index = results.findIndex(({ toolCallId }) => toolCallId === call.toolCallId);
  const [result] = index === -1 ? [] : results.splice(index, 1);
  const text = result === undefined ? "Interrupted: this call has no result." : textOf(result, redact);
  const isError = result === undefined || result.isError === true;
  const response = isError ? { error: text } : { output: text };
  return { functionResponse: { ...idOf(call), name: nameOf(call), response } };
}

function nameOf({ name }: ToolCallPart): string {
  const allowed = name.replace(NOT_IN_NAMES, "_").slice(0, NAME_CHARS_MAX);
  return /^[A-Za-z_]/.test(allowed) ? allowed : `_${allowed.slice(1)}`;
}

/** Returns the id that Gemini gave the call, if any. */
function idOf({ id }: ToolCallPart): { id?: string } {
  return typeof id === "string" ? { id } : {};
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

/** Gemini takes only objects as arguments. */
function redactedArgs(args: JsonValue, redact: Redact | undefined): Record<string, unknown> {
  const value = redactedValue(args ?? {}, redact);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { value };
}

function redactedValue(value: JsonValue, redact: Redact | undefined): JsonValue {
  if (typeof value === "string") return sendable(value, redact);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redactedValue(item, redact));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wellFormed(key), redactedValue(item, redact)]));
}

/** Applies `redact`, and replaces unpaired surrogates, which UTF-8 cannot encode. Agents leave them when they cut texts. */
function sendable(text: string, redact: Redact | undefined): string {
  return wellFormed(redacted(text, redact));
}

function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

function isResult(part: Part): part is ToolResultPart {
  return part.type === "tool_result";
}
