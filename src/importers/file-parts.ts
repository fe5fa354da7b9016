import type { DataPart, FilePart, JsonValue } from "../core/message.ts";
import type { JsonObject } from "./lines.ts";

const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,/;

/** A file at a URL; one in the URL, as `data:image/png;base64,…`, with its content. */
export function filePartOf(url: string, mediaType: string | undefined, about: JsonObject = {}): FilePart {
  const inside = DATA_URL.exec(url.slice(0, 200));
  if (inside === null) return { type: "file", ...about, mediaType: mediaType ?? "application/octet-stream", url };
  const media = mediaType === undefined || mediaType.endsWith("/*") ? inside[1]! : mediaType;
  return { type: "file", ...about, mediaType: media, data: url.slice(inside[0].length) };
}

/** What there is no part for, whole. */
export function dataPartOf(data: JsonValue): DataPart {
  return { type: "data", data };
}

/** What a tool answered, as text: a text as it is, anything else as JSON. */
export function resultTextOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
