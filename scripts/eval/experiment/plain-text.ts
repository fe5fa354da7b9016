import type { Part, RenderResult } from "../../../src/index.ts";
import type { EntireEntry } from "../recall-data.ts";

/** Returns the text of an entry without JSON. The text of a call is the strings of its arguments. */
export function entryText({ kind, text }: Pick<EntireEntry, "kind" | "text">): string {
  if (kind !== "tool_call") return text;
  try {
    return leaves(JSON.parse(text)).join("\n");
  } catch {
    return unescapedJson(text); // the data cut it at 2,000 characters
  }
}

/** Returns what a context says, without JSON and with the entities of its elements replaced. Tags count as text. */
export function contextText({ messages, composed }: Pick<RenderResult, "messages" | "composed">): string {
  const own = new Set(composed);
  return messages
    .map(({ parts }, index) => {
      const text = parts.map(partText).join("\n");
      return own.has(index) ? unescapedElement(text) : text;
    })
    .join("\n");
}

function partText(part: Part): string {
  switch (part.type) {
    case "tool_call":
      return callText(part.args);
    case "tool_result":
      return typeof part.content === "string" ? part.content : part.content.map(partText).join("\n");
    case "text":
    case "reasoning":
      return part.text ?? "";
    default:
      return "";
  }
}

/** Returns the text of a call. If the data set has cut the JSON of its arguments, it is the only argument, `text`. */
function callText(args: unknown): string {
  const texts = leaves(args);
  return texts.length === 1 && texts[0]!.startsWith('{"') ? unescapedJson(texts[0]!) : texts.join("\n");
}

function leaves(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return value === null || value === undefined ? [] : [String(value)];
}

export function unescapedElement(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const ESCAPED: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** Replaces the escapes of JSON, which may be cut. */
export function unescapedJson(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPED[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
