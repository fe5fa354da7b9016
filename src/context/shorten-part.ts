import type { JsonValue, Part } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import { distill } from "./distill.ts";
import { shorten } from "./shorten.ts";

/**
 * A part in which no string has more than `charsMax` UTF-16 units; the part itself where none has. Results are distilled,
 * what was said keeps its head and its tail, files are only named. Of a call's arguments the strings are cut and the keys
 * stay: arguments without their names mean nothing. Reasoning is never touched: providers sign it and refuse it when a letter
 * is missing.
 *
 * @param source  Names the message in what is left: `message 12`.
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

/** As `shortenPart`; what is neither a call nor a result comes back as it is. */
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

/** The value itself where no string in it is long; else a copy. */
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
