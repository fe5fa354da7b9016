import type { Part } from "./message.ts";
import { describeFile } from "./text.ts";
import { estimateTokens } from "./token-estimate.ts";

/** Port: what a text costs in a context. `name` is stored with every count, so that a change of counter is noticed. */
export interface TokenCounter {
  readonly name: string;
  /** A whole number, at least 0; linear in the text's length. */
  count(text: string): number;
}

/** An estimate for any model when its tokenizer is not at hand: that of tokenx, in one pass over the text. */
export const estimatingTokenCounter: TokenCounter = { name: "tokenx-2", count: estimateTokens };

/** Tokens that a provider's wrapping of a message costs: role, delimiters, a part's braces. */
export const MESSAGE_TOKENS = 4;

/** Tokens of an image or another file sent as bytes: providers bill them by size in pixels or pages, which we do not read. */
const FILE_TOKENS = 1_000;

/** What a message costs in a context: its parts, and its name where it has one. */
export function messageTokens(
  { name, parts }: { name?: string | undefined; parts: readonly Part[] },
  counter: TokenCounter,
): number {
  return tokenCountOf(parts, counter) + (name === undefined ? 0 : counter.count(name));
}

/**
 * What a message's parts cost in a context: everything that is sent of them, ids, arguments and the provider's own fields
 * (such as signatures) included.
 */
export function tokenCountOf(parts: readonly Part[], counter: TokenCounter): number {
  let tokens = MESSAGE_TOKENS;
  for (const part of parts) {
    tokens += unknownFieldTokens(part, counter);
    switch (part.type) {
      case "text":
      case "reasoning":
        tokens += counter.count(part.text);
        break;
      case "tool_call":
        tokens += counter.count(`${part.toolCallId} ${part.name} ${JSON.stringify(part.args ?? null)}`);
        break;
      case "tool_result":
        tokens += counter.count(part.toolCallId);
        tokens +=
          typeof part.content === "string"
            ? counter.count(part.content)
            : tokenCountOf(part.content, counter) - MESSAGE_TOKENS;
        break;
      case "file":
        tokens +=
          counter.count(describeFile(part)) + (part.data === undefined && part.url === undefined ? 0 : FILE_TOKENS);
        break;
      case "data":
        tokens += counter.count(JSON.stringify(part.data ?? null));
        break;
    }
  }
  return tokens;
}

const KNOWN_FIELDS = new Set("type text toolCallId name args content isError mediaType data url".split(" "));

function unknownFieldTokens(part: Part, counter: TokenCounter): number {
  let tokens = 0;
  for (const [field, value] of Object.entries(part)) {
    if (!KNOWN_FIELDS.has(field)) tokens += counter.count(`${field} ${JSON.stringify(value)}`);
  }
  return tokens;
}
