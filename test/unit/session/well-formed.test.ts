import { expect, test } from "vitest";
import type { MessageInput, RenderResult } from "../../../src/index.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

/** JSON writes only lone surrogates as escapes. */
const LONE_SURROGATE = /(?<!\\)\\ud[89a-f]/i;

/** A conversation about a lamp in which every string is cut through a pair. */
function cutConversation(turns: number): MessageInput[] {
  return Array.from({ length: turns }, (_, turn): MessageInput[] => {
    const call = { toolCallId: `call \ud83d ${turn}`, name: "read\ud83d" };
    return [
      { role: "user", content: `Which pin has lamp ${turn} \ud83d?`, metadata: { note: "\udc00" } },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Hm \ud83d." },
          { type: "tool_call", ...call, args: { "file\udc00": `src/lamp_${turn}\ud83d.ts` } },
        ],
      },
      {
        role: "tool",
        parts: [{ type: "tool_result", ...call, content: `pin = ${turn * 3} \ud83d`, isError: turn % 7 === 3 }],
      },
      { role: "assistant", content: `Decision: lamp ${turn} has pin ${turn * 3} \udc00. Next: the dimmer\ud83d?` },
    ];
  }).flat();
}

test("contexts of every strategy and size are well-formed, and the store keeps what was said", () => {
  const session = temporaryStore().session("s");
  const said: MessageInput[] = [{ role: "system", content: "Be \ud83d brief." }, ...cutConversation(40)];
  session.append(said);
  const query = "Which pin has lamp 3?";
  const contexts: RenderResult[] = [400, 1_500, 6_000, 100_000].flatMap((tokensMax) => [
    session.render({ tokensMax }),
    session.render({ tokensMax, query }),
    ...(["full", "flat", "sandwich"] as const).flatMap((strategy) =>
      strategy === "full" && tokensMax < 100_000 ? [] : [session.render({ tokensMax, strategy })],
    ),
  ]);
  for (const { messages } of contexts) expect(JSON.stringify(messages)).not.toMatch(LONE_SURROGATE);
  const [, asked, called] = session.messages();
  expect([asked!.parts, called!.parts]).toEqual([[{ type: "text", text: said[1]!.content }], said[2]!.parts]);
});
