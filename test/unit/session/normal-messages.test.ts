import { expect, test } from "vitest";
import { type MessageInput, openStore } from "../../../src/index.ts";

const output = Array.from({ length: 6_000 }, (_, index) => `row ${index} of the table is in order`).join("\n");

function ask(id: string, content: string): MessageInput[] {
  return [
    { role: "assistant", parts: [{ type: "tool_call", toolCallId: id, name: "query", args: { id } }] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId: id, content }] },
  ];
}

test("a large result is cut down in the context, and stands in the store as it was appended", () => {
  const store = openStore(":memory:");
  const session = store.session("s1", { hotTokensMax: 1_000_000, messageTokensMax: 2_000, oldMessageTokensMax: 500 });
  session.append({ role: "user", content: "Show me the table." });
  const [, { messageId }] = session.append(ask("c1", output)) as [unknown, { messageId: number }];
  const { messages, sources } = session.render({ tokensMax: 500_000 });
  const [part] = messages.at(-1)!.parts as unknown as [{ content: string }];
  expect(part.content).toContain(
    `\n[shortened from ${output.length.toLocaleString("en-US")} characters, expand message`,
  );
  expect(sources.at(-1)).toMatchObject({ messageId, how: "shortened" });
  expect(session.messages().at(-1)!.parts).toEqual([{ type: "tool_result", toolCallId: "c1", content: output }]);
  store.close();
});

test("its bytes stay as they are until the frontier moves, and then it may become shorter", () => {
  const store = openStore(":memory:");
  const settings = { hotTokensMax: 1_000_000, hotSize: 4, overlap: 4, evictBatch: 8 };
  const session = store.session("s1", {
    ...settings,
    messageTokensMax: 2_000,
    oldMessageTokensMax: 500,
    recentTokensMax: 0,
  });
  session.append({ role: "user", content: "Show me the table." });
  session.append(ask("c1", output));
  const render = () => session.render({ tokensMax: 500_000 }).messages;
  const lengthOfResult = () => JSON.stringify(render().find(({ role }) => role === "tool")).length;

  let before = render();
  const hotLength = lengthOfResult();
  let moves = 0;
  for (let turn = 0; turn < 9; turn++) {
    session.append({ role: "user", content: `Thank you, ${turn}.` });
    const after = render();
    if (JSON.stringify(after.slice(0, before.length)) !== JSON.stringify(before)) moves++;
    before = after;
  }
  expect(moves).toBe(1);
  expect(lengthOfResult()).toBeLessThan(hotLength / 2);
  store.close();
});
