import type { MessageInput } from "../../src/index.ts";

const TURN = 5;
const THEMES = ["lock lease bucket", "parser token grammar", "invoice ledger price", "index vector recall"];

/** Turns of a long session that is about one of four things at a time: a question, and two calls of a tool. */
export function longMessages(from: number, count: number): MessageInput[] {
  const turns = Array.from({ length: count / TURN }, (_, turn) => {
    const at = from + turn * TURN;
    const words = THEMES[Math.floor(at / 60) % THEMES.length]!;
    const calls = [1, 3].flatMap((step): MessageInput[] => [
      {
        role: "assistant",
        parts: [
          { type: "text", text: `Step ${at + step} about ${words}.\n\n- **${words}**` },
          { type: "tool_call", toolCallId: `c${at + step}`, name: "read", args: { path: `${words}.ts` } },
        ],
      },
      {
        role: "tool",
        parts: [{ type: "tool_result", toolCallId: `c${at + step}`, content: `${words} `.repeat((at % 30) + 1) }],
      },
    ]);
    return [{ role: "user" as const, content: `Question ${at}: what of ${words}?` }, ...calls];
  });
  return turns.flat();
}
