import { PARTS_MAX } from "./limits.ts";

type Fields = Record<string, unknown>;

/** Formats of others for a message, and the way to convert each. */
const WAYS = {
  openai: "a message of OpenAI: append what `fromOpenai` of `coppice/adapters/openai` makes of it",
  responses:
    "an item of OpenAI's Responses API: `CoppiceSession` of `coppice/openai-agents` stores such items. Or append its calls and results as parts of type `tool_call` and `tool_result`",
  anthropic: "a message of Anthropic: append what `fromAnthropic` of `coppice/adapters/anthropic` makes of it",
  gemini: "a content of Gemini: append what `fromGemini` of `coppice/adapters/gemini` makes of it",
  aiSdk: "a model message of the AI SDK: append what `fromAiSdk` of `coppice/adapters/ai-sdk` makes of it",
  aiSdkUi: "a UI message of the AI SDK: append what `fromUiMessages` of `coppice/adapters/ai-sdk` makes of it",
  llxprt: "a content of llxprt-code: append what `fromLlxprt` of `coppice/adapters/llxprt` makes of it",
} as const;

export type RawShape = keyof typeof WAYS;

const TYPES_OF_RESPONSES =
  /^(?:(?:input|output)_(?:text|image|file|audio)|item_reference|(?!tool_)\w+_call(?:_output)?)$/;
const TYPES_OF_ANTHROPIC = /^(?:(?:server_|mcp_)?tool_use|thinking|redacted_thinking|\w+_tool_result|document)$/;
const TYPES_OF_OPENAI = /^(?:image_url|input_audio|refusal)$/;
const TYPES_OF_AI_SDK = /^tool-(?:call|result|error|approval-request|approval-response)$/;
const TYPES_OF_AI_SDK_UI = /^(?:(?:tool|data|source)-.+|dynamic-tool|step-start)$/;

/** Fields of a message of OpenAI, which its replies have even when they are empty. */
const OPENAI_FIELDS = ["tool_call_id", "tool_calls", "refusal", "annotations"];

/** Fields in which other formats keep the calls of a message. */
const CALL_FIELDS = ["tool_calls", "function_call", "toolCalls", "functionCall", "toolInvocations"];

/** Returns the field of a message that holds calls which are not among its parts. */
export function callFieldOf(message: Fields): string | undefined {
  return CALL_FIELDS.find((field) => {
    const calls = message[field];
    return isFields(calls) || firstOf(calls).some(isFields);
  });
}

/** Returns whose format a value has that is no message of ours; undefined if it resembles none. */
export function rawShapeOf(value: unknown): RawShape | undefined {
  if (!isFields(value)) return undefined;
  const { type, role, content, parts } = value;
  if (Array.isArray(value.blocks) && "speaker" in value) return "llxprt";
  if (Array.isArray(value.choices)) return "openai";
  if (Array.isArray(value.candidates)) return "gemini";
  if (Array.isArray(value.output)) return "responses";
  if (role === "model" || Array.isArray(value.contents)) return "gemini";
  if (typeof type === "string" && (type === "reasoning" || TYPES_OF_RESPONSES.test(type))) return "responses";
  return (
    shapeOfAny(parts, shapeOfPart) ??
    shapeOfAny(content, shapeOfBlock) ??
    (role === "developer" ||
    role === "function" ||
    OPENAI_FIELDS.some((field) => field in value) ||
    hasOpenaiCall(value)
      ? "openai"
      : undefined)
  );
}

export function wayOf(shape: RawShape): string {
  return WAYS[shape];
}

function shapeOfAny(items: unknown, shapeOf: (item: Fields) => RawShape | undefined): RawShape | undefined {
  for (const item of firstOf(items)) {
    const shape = isFields(item) ? shapeOf(item) : undefined;
    if (shape !== undefined) return shape;
  }
  return undefined;
}

/** An item of `parts`, which Gemini and UI messages have. */
function shapeOfPart(part: Fields): RawShape | undefined {
  const { type } = part;
  if (typeof type === "string") return TYPES_OF_AI_SDK_UI.test(type) ? "aiSdkUi" : shapeOfBlock(part);
  const isGemini = ["text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"];
  return isGemini.some((field) => field in part) ? "gemini" : undefined;
}

/** An item of `content`, which all others have. */
function shapeOfBlock(block: Fields): RawShape | undefined {
  const { type } = block;
  if (typeof type !== "string") return undefined;
  if (TYPES_OF_AI_SDK.test(type)) return "aiSdk";
  if (TYPES_OF_OPENAI.test(type)) return "openai";
  if (TYPES_OF_ANTHROPIC.test(type) || (type === "image" && "source" in block) || "tool_use_id" in block) {
    return "anthropic";
  }
  if (type === "image" && "image" in block) return "aiSdk";
  return TYPES_OF_RESPONSES.test(type) ? "responses" : undefined;
}

function hasOpenaiCall({ tool_calls, function_call }: Fields): boolean {
  return (
    isFields(function_call) ||
    firstOf(tool_calls).some((call) => isFields(call) && ("function" in call || "custom" in call))
  );
}

/** Returns as many items of a list as a message may have; a list of holes would take minutes to walk. */
function firstOf(items: unknown): unknown[] {
  return Array.isArray(items) ? items.slice(0, PARTS_MAX) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
