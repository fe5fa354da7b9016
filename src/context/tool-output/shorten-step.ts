import type { JsonValue, Message, Part } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { messageTokens, type TokenCounter } from "../../core/tokens.ts";
import { tokenSum } from "../costs.ts";
import { NO_TEXT, renderStep, type Step } from "../layout/steps.ts";
import { distill } from "./distill.ts";
import { shorten } from "./shorten.ts";

/** Fewest characters of a shortened text, marker included: about one line of head and one of tail. */
const CHARS_MIN = 240;

/** Fewest characters of a text in a step that would not fit otherwise. */
const CHARS_LEAST = 60;

/** If a limit was too high, the next limit is at most this share of it. */
const CHARS_RATIO = 0.9;

/**
 * Cuts the long texts of a step to reach `tokensMax`, or to its shortest form if that costs more. All texts get the same
 * limit, so short ones stay whole. An open call is measured as if it were unanswered.
 */
export function shortenStep(step: Step, tokensMax: number, tokenCounter: TokenCounter): Step {
  return shortened(step, tokensMax, CHARS_MIN, tokenCounter);
}

/** Cuts a step that would not fit otherwise even further, and leaves out its reasoning. */
export function shortestStep(
  { messages, shortened: before }: Step,
  tokensMax: number,
  tokenCounter: TokenCounter,
): Step {
  const reasoned = messages.filter(({ parts }) => parts.some(isReasoning));
  const bare = messages.map((message) => withParts(message, withoutReasoning, tokenCounter));
  const ids = new Set([...before, ...reasoned.map(({ id }) => id)]);
  return shortened({ messages: bare, shortened: ids }, tokensMax, CHARS_LEAST, tokenCounter);
}

function shortened(step: Step, tokensMax: number, charsMin: number, tokenCounter: TokenCounter): Step {
  const shortenTo = (charsMax: number): Step => {
    const shortened = new Set(step.shortened);
    const messages = step.messages.map((message) => {
      const shorter = withParts(message, (part) => shortenPart(part, charsMax, `message ${message.id}`), tokenCounter);
      if (shorter !== message) shortened.add(message.id);
      return shorter;
    });
    return { messages, shortened };
  };
  return longestWithin(tokensMax, charsMin, shortenTo, (shorter) => tokenSum(renderStep(shorter, false, tokenCounter)));
}

/**
 * Cuts the results and arguments of a message to `tokensMax`, or to their shortest form if that costs more. Other parts stay.
 * Returns the same message if it costs at most `tokensMax`.
 */
export function shortenToolMessage(message: Message, tokensMax: number, tokenCounter: TokenCounter): Message {
  if (message.tokenCount <= tokensMax) return message;
  const shortenTo = (charsMax: number): Message =>
    withParts(message, (part) => shortenToolPart(part, charsMax, `message ${message.id}`), tokenCounter);
  return longestWithin(tokensMax, CHARS_MIN, shortenTo, ({ tokenCount }) => tokenCount);
}

function longestWithin<T>(
  tokensMax: number,
  charsMin: number,
  shortenTo: (charsMax: number) => T,
  tokensOf: (value: T) => number,
): T {
  let charsMax = Math.max(charsMin, tokensMax * 4);
  for (;;) {
    const candidate = shortenTo(charsMax);
    const tokenCount = tokensOf(candidate);
    if (charsMax === charsMin || tokenCount <= tokensMax) return candidate;
    // Texts below the limit do not shrink, so the cost falls more slowly than the limit.
    charsMax = Math.max(charsMin, Math.floor(charsMax * Math.min(CHARS_RATIO, tokensMax / tokenCount)));
  }
}

function isReasoning({ type }: Part): boolean {
  return type === "reasoning";
}

function withoutReasoning(part: Part): Part[] {
  return isReasoning(part) ? [] : [part];
}

/** Returns the same message if no part changes. Providers refuse a message without parts. */
function withParts(message: Message, change: (part: Part) => Part | Part[], tokenCounter: TokenCounter): Message {
  const changed = message.parts.flatMap(change);
  if (changed.length === message.parts.length && changed.every((part, index) => part === message.parts[index]))
    return message;
  const parts = changed.length > 0 ? changed : [NO_TEXT];
  return { ...message, parts, tokenCount: messageTokens({ ...message, parts }, tokenCounter) };
}

/**
 * Cuts every string of a part to `charsMax` UTF-16 units. Returns the same part if no string is longer. Results are distilled,
 * texts keep head and tail, arguments keep their keys, and files are replaced by their names. Reasoning never changes, because
 * providers sign it: it is whole or left out.
 *
 * @param source  Names the message in the markers: `message 12`.
 */
function shortenPart(part: Part, charsMax: number, source: string): Part {
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

/** Cuts a call or a result like `shortenPart`. Returns any other part unchanged. */
function shortenToolPart(part: Part, charsMax: number, source: string): Part {
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
