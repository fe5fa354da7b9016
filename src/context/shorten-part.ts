import type { JsonValue, Part } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import { distill } from "./distill.ts";
import { shorten } from "./shorten.ts";

/**
 * Cuts every string of a part to `charsMax` UTF-16 units. Returns the same part if no string is longer.
 *
 * Results are distilled, texts keep head and tail, and files are replaced by their names. Arguments keep their keys, which give
 * the values their meaning. Reasoning never changes, because providers sign it.
 *
 * @param source  Names the message in the markers: `message 12`.
 */
export function shortenPart(part: Part, charsMax: number, source: string): Part {
  switch (part.type) {
    case "text":
      return part.text.length <= charsMax ? part : { ...part, text: shorten(part.text, charsMax, source) };
    case "reasoning":
      return part;
    case "tool_call":
    case "tool_result":
      return shortenToolPart(part, charsMax, source);
    case "file": {
      if ((part.data ?? part.url ?? "").length <= charsMax) return part;
      const text = `[file ${describeFile(part)} left out, expand ${source}]`;
      return { type: "text", text: shorten(text, charsMax, source) };
    }
    case "data": {
      const json = JSON.stringify(part.data) ?? "";
      return json.length <= charsMax ? part : { type: "text", text: distill(json, charsMax, source) };
    }
  }
}

/** Cuts a call or a result like `shortenPart`, and returns any other part as it is. */
export function shortenToolPart(part: Part, charsMax: number, source: string): Part {
  if (part.type === "tool_call") {
    const args = shortenStrings(part.args as JsonValue, charsMax, source);
    return args === part.args ? part : { ...part, args };
  }
  if (part.type !== "tool_result") return part;
  if (typeof part.content === "string") {
    return part.content.length <= charsMax ? part : { ...part, content: distill(part.content, charsMax, source) };
  }
  const content = part.content.map((item) => {
    if (item.type !== "text") return shortenPart(item, charsMax, source);
    return item.text.length <= charsMax ? item : { ...item, text: distill(item.text, charsMax, source) };
  }) as typeof part.content;
  return content.every((item, index) => item === part.content[index]) ? part : { ...part, content };
}

/** Returns the same value if no string in it is long. */
function shortenStrings(value: JsonValue, charsMax: number, source: string): JsonValue {
  if (typeof value === "string") return value.length <= charsMax ? value : shorten(value, charsMax, source);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => shortenStrings(item, charsMax, source));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const entries = Object.entries(value).map(([key, item]) => [key, shortenStrings(item, charsMax, source)] as const);
  return entries.every(([key, item]) => item === value[key]) ? value : Object.fromEntries(entries);
}
