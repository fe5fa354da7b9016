import type { Part } from "./message.ts";
import { describeFile } from "./text.ts";
import { estimateTokens } from "./token-estimate.ts";

/** Counts the tokens of a text. `name` is stored with every count, so that a change of the counter is noticed. */
export interface TokenCounter {
  readonly name: string;
  /** Returns a whole number of at least 0, in time linear in the text's length. */
  count(text: string): number;
}

/** Estimates the tokens of any model, without the model's tokenizer. */
export const estimatingTokenCounter: TokenCounter = { name: "pieces-1", count: estimateTokens };

/** The tokens that a provider adds to each message: its role, delimiters and braces. */
export const MESSAGE_TOKENS = 4;

/** A guess for a file that is sent as bytes. Providers bill by pixels or pages, which are unknown here. */
const FILE_TOKENS = 1_000;

export function messageTokens(
  { name, parts }: { name?: string | undefined; parts: readonly Part[] },
  counter: TokenCounter,
): number {
  return partsTokens(parts, counter) + (name === undefined ? 0 : counter.count(name));
}

/** Counts the tokens of a message without its name. Everything that is sent counts, including ids and signatures. */
export function partsTokens(parts: readonly Part[], counter: TokenCounter): number {
  let tokens = MESSAGE_TOKENS;
  for (const part of parts) {
    for (const [field, value] of Object.entries(part)) {
      if (!KNOWN_FIELDS.has(field)) tokens += counter.count(`${field} ${JSON.stringify(value)}`);
    }
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
        if (typeof part.content === "string") tokens += counter.count(part.content);
        else tokens += partsTokens(part.content, counter) - MESSAGE_TOKENS;
        break;
      case "file":
        tokens += counter.count(describeFile(part));
        if (part.data !== undefined || part.url !== undefined) tokens += FILE_TOKENS;
        break;
      case "data":
        tokens += counter.count(JSON.stringify(part.data ?? null));
        break;
    }
  }
  return tokens;
}

const KNOWN_FIELDS = new Set("type text toolCallId name args content isError mediaType data url injected".split(" "));
