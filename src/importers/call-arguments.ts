import type { JsonValue } from "../core/message.ts";

/** The arguments of a call are JSON in a string; where writing them again would not give that string, it stays, too. */
export function argumentsOf(words: JsonValue | undefined): { args: JsonValue; arguments?: string } {
  if (typeof words !== "string") return { args: words ?? {} };
  try {
    const args: JsonValue = JSON.parse(words);
    return JSON.stringify(args) === words ? { args } : { args, arguments: words };
  } catch {
    return { args: words };
  }
}
