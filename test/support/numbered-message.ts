import type { MessageInput } from "../../src/index.ts";

export const SESSION_SETTINGS = { hotSize: 4, overlap: 2, evictBatch: 6, maxThemes: 3, openClustersMax: 3 };

const SUBJECTS = ["deploy region bucket lock", "parser template brace token", "invoice currency billing tax"];

/** A message that its number says all about: calls, results that answer them, and every ninth too long for its row. */
export function numberedMessage(number: number): MessageInput {
  const words = `${SUBJECTS[Math.floor(number / 4) % 3]} ${number}`;
  const text = number % 9 === 8 ? `${words} `.repeat(2_000) : words;
  const id = `number ${number}`;
  switch (number % 4) {
    case 1:
      return {
        role: "assistant",
        id,
        parts: [{ type: "tool_call", toolCallId: "call_0", name: "run", args: { text } }],
      };
    case 2:
      return { role: "tool", id, parts: [{ type: "tool_result", toolCallId: "call_0", content: text }] };
    default:
      return { role: number % 4 === 0 ? "user" : "assistant", id, parts: [{ type: "text", text }] };
  }
}
