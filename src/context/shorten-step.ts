import type { JsonValue, Part } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import { type TokenCounter, tokenCountOf } from "../core/tokens.ts";
import { shorten } from "./shorten.ts";
import { piecesOf, type Step, tokensOfPieces } from "./steps.ts";

/** Least characters that a shortened text keeps, marker included: a line of head, a line of tail. */
const CHARS_MIN = 240;

/** The next limit to try is at most this share of one that was too much. Costs at most a tenth of the room. */
const CHARS_RATIO = 0.9;

/**
 * A step cut down to `tokensMax`: the same messages, calls and results, with head and tail of whatever is long.
 *
 * Every string gets the same limit, so the small ones stay whole and the large ones pay. Reasoning is never touched:
 * providers sign it and refuse it when a letter is missing.
 *
 * A step whose results are still to come is measured as if it were closed, so that its closing does not change it.
 *
 * @returns the longest form that was found to fit, or the shortest there is if none does.
 */
export function shortenStep(step: Step, tokensMax: number, tokenCounter: TokenCounter): Step {
  let charsMax = Math.max(CHARS_MIN, tokensMax * 4);
  for (;;) {
    const candidate = shortenTo(step, charsMax, tokenCounter);
    const tokenCount = tokensOfPieces(piecesOf(candidate, false, tokenCounter));
    if (charsMax === CHARS_MIN || tokenCount <= tokensMax) return candidate;
    // The cost is concave in the limit (strings that are short enough stop growing), so going down in proportion to
    // what was too much does not overshoot: with a hundred long results, three tries instead of thirty.
    charsMax = Math.max(CHARS_MIN, Math.floor(charsMax * Math.min(CHARS_RATIO, tokensMax / tokenCount)));
  }
}

function shortenTo(step: Step, charsMax: number, tokenCounter: TokenCounter): Step {
  const shortened = new Set<number>();
  const messages = step.messages.map((message) => {
    const parts = message.parts.map((part) => shortenPart(part, charsMax, `message ${message.id}`));
    if (parts.every((part, index) => part === message.parts[index])) return message;
    shortened.add(message.id);
    return { ...message, parts, tokenCount: tokenCountOf(parts, tokenCounter) };
  });
  return { messages, shortened };
}

/** The part itself where nothing in it is long. */
function shortenPart<P extends Part>(part: P, charsMax: number, source: string): Part {
  switch (part.type) {
    case "text":
      return part.text.length <= charsMax ? part : { ...part, text: shorten(part.text, charsMax, source) };
    case "reasoning":
      return part;
    case "tool_call": {
      const args = shortenStrings(part.args as JsonValue, charsMax, source);
      return args === part.args ? part : { ...part, args };
    }
    case "tool_result": {
      if (typeof part.content === "string") {
        return part.content.length <= charsMax ? part : { ...part, content: shorten(part.content, charsMax, source) };
      }
      const content = part.content.map((item) => shortenPart(item, charsMax, source)) as typeof part.content;
      return content.every((item, index) => item === part.content[index]) ? part : { ...part, content };
    }
    case "file": {
      if ((part.data ?? part.url ?? "").length <= charsMax) return part;
      const text = `[file ${describeFile(part)} left out, expand ${source}]`;
      return { type: "text", text: shorten(text, charsMax, source) };
    }
    case "data": {
      const json = JSON.stringify(part.data) ?? "";
      return json.length <= charsMax ? part : { type: "text", text: shorten(json, charsMax, source) };
    }
  }
}

/** The value itself where no string in it is long; else a copy. Keys stay: arguments without their names mean nothing. */
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
