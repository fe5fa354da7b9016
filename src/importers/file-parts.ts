import { defined } from "../adapters/shared/own.ts";
import type {
  DataPart,
  FilePart,
  JsonValue,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../core/message.ts";
import { type JsonObject, valueIn } from "./lines.ts";
import { objectOf } from "./values.ts";

const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,/;

/** Returns a part for the file at a URL. A data URL (`data:image/png;base64,…`) gives a part with the content. */
export function filePartOf(url: string, mediaType: string | undefined, about: JsonObject = {}): FilePart {
  const inside = DATA_URL.exec(url.slice(0, 200));
  if (inside === null) return { type: "file", ...about, mediaType: mediaType ?? "application/octet-stream", url };
  const media = mediaType === undefined || mediaType.endsWith("/*") ? inside[1]! : mediaType;
  return { type: "file", ...about, mediaType: media, data: url.slice(inside[0].length) };
}

export function dataPartOf(data: JsonValue): DataPart {
  return { type: "data", data };
}

/** A part that a tool's result may have. */
export type PlainPart = TextPart | FilePart | DataPart;

/** Returns the content of a result: its only text, or its parts. */
export function resultContentOf(parts: readonly Part[]): string | PlainPart[] {
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first.type === "text" ? first.text : (parts as PlainPart[]);
}

/** Returns the answer of a tool as text: a string unchanged, any other value as JSON. */
export function resultTextOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the text as a part; none if it is empty, or no text. */
export function textParts(text: unknown): TextPart[] {
  return typeof text === "string" && text !== "" ? [{ type: "text", text }] : [];
}

/** Returns the thought as a part; none if it is empty, or no text. */
export function thoughtParts(text: unknown, about: JsonObject = {}): ReasoningPart[] {
  return typeof text === "string" && text !== "" ? [{ type: "reasoning", text, ...about }] : [];
}

/** Returns a part for a call. Without an id or a name, it is the data `call`. */
export function callPart(
  id: JsonValue | undefined,
  name: JsonValue | undefined,
  args: JsonValue | undefined,
  call: JsonValue,
): ToolCallPart | DataPart {
  if (typeof id !== "string" || typeof name !== "string" || id === "" || name === "") return dataPartOf(call);
  return { type: "tool_call", toolCallId: id, name, args: args ?? {} };
}

/** Returns a part for a call of a function, as OpenAI's API has it: its arguments are JSON in a text, which may be `null`. */
export function functionCallOf(call: JsonObject): ToolCallPart | DataPart {
  const { name, arguments: given } = objectOf(call.function);
  const part = callPart(call.id, name, {}, call);
  if (part.type !== "tool_call") return part;
  return { ...part, args: typeof given === "string" ? valueIn(given, given) : (given ?? {}) };
}

/** Returns a part for a result, with the facts that are known. */
export function resultPart(
  toolCallId: string,
  content: string | PlainPart[],
  facts: { isError?: boolean | undefined; name?: string | undefined } = {},
): ToolResultPart {
  return { type: "tool_result", toolCallId, content, ...defined(facts as { isError?: boolean; name?: string }) };
}
