import type { DataPart, FilePart, JsonValue, Part, TextPart } from "../core/message.ts";
import { type JsonObject, parseJson } from "./lines.ts";
import { objectOf, stringOf } from "./values.ts";

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

/** Returns a part for a call of a function, as OpenAI's API has it: its arguments are JSON in a text. */
export function functionCallOf(call: JsonObject): Part {
  const { name, arguments: given } = objectOf(call.function);
  if (!stringOf(call.id) || !stringOf(name)) return dataPartOf(call);
  const parsed = typeof given === "string" ? parseJson(given) : { value: given ?? {} };
  const args = "value" in parsed ? parsed.value : (given ?? {});
  return { type: "tool_call", toolCallId: call.id as string, name: name as string, args };
}
