import { expect, test } from "vitest";
import type { MessageInput } from "../../../src/index.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const hook = (text: string): MessageInput => ({ role: "user", parts: [{ type: "text", text, injected: true }] });
const asks = (id: string): MessageInput => ({
  role: "assistant",
  parts: [{ type: "tool_call", toolCallId: id, name: "mcp__coppice__recall", args: { query: "the walrus port" } }],
});
const answers = (...ids: string[]): MessageInput => ({
  role: "tool",
  parts: ids.map((toolCallId) => ({ type: "tool_result", toolCallId, content: `The walrus port of ${toolCallId}.` })),
});

test("injected parts are kept, and nobody finds, quotes or is titled by them", async () => {
  const store = openedStore(temporaryPath());
  const session = store.session("s", { hotSize: 1, overlap: 0, evictBatch: 1 });
  session.append([
    hook("The walrus port was chosen: src/walrus.ts. Never change the walrus."),
    user("Please look at the gateway."),
    asks("c"),
    answers("c"),
    assistant("We decided on the gateway."),
    hook("The walrus port again."),
    user("Thank you for the gateway."),
    user("Bye."),
  ]);
  session.compact();
  expect(await store.recall("walrus port")).toEqual([]);
  // A message of which everything is injected has nothing to show, however near it is to what was found.
  const found = await store.recall("gateway");
  expect(found.map(({ seq }) => seq).toSorted()).toEqual([1, 4, 6, 7]);
  for (const { neighbors } of await store.recall("gateway", { neighbors: 2 })) {
    expect(neighbors.map(({ snippet }) => snippet).filter((snippet) => /walrus|^$/.test(snippet))).toEqual([]);
  }
  expect(store.sessions()[0]!.opening).toBe("Please look at the gateway.");
  expect(
    session
      .roots({ level: "cluster" })
      .map(({ label }) => label)
      .join(),
  ).not.toMatch(/walrus/i);
  const context = JSON.stringify(session.render({ tokensMax: 2_000 }).messages);
  expect(context).not.toContain("walrus");
  expect(JSON.stringify(store.recap({ sinceMs: 0 }))).not.toContain("walrus");
  // Word for word, where they were.
  expect(session.messages().map(({ seq, turnSeq, text }) => [seq, turnSeq, text === ""])).toEqual([
    [0, -1, true],
    [1, 1, false],
    [2, 1, true],
    [3, 1, true],
    [4, 1, false],
    [5, 1, true],
    [6, 6, false],
    [7, 7, false],
  ]);
  expect(session.messages()[0]!.parts[0]).toMatchObject({
    text: expect.stringContaining("was chosen"),
    injected: true,
  });
  expect(store.verify()).toMatchObject({ ok: true });
});

test("of results in one message, only those of injected calls are left out", async () => {
  const store = openedStore(temporaryPath());
  const session = store.session("s");
  const both = {
    ...asks("own"),
    parts: [...asks("own").parts!, { type: "tool_call" as const, toolCallId: "other", name: "ls", args: {} }],
  };
  session.append([both, answers("own", "other")]);
  expect(session.messages()[1]!.text).toBe("The walrus port of other.");
  const texts = (await store.recall("walrus port")).map(({ text }) => text);
  expect(texts.filter((text) => text.includes("walrus"))).toEqual(["The walrus port of other."]);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("a mark that is no boolean is refused", () => {
  const store = openedStore(temporaryPath());
  const wrong = { role: "user", parts: [{ type: "text", text: "x", injected: "yes" }] } as unknown as MessageInput;
  expect(() => store.session("s").append(wrong)).toThrow(expect.objectContaining({ code: "MESSAGE_INVALID" }));
});

test("a message of white space is no hit, and no neighbor of one", async () => {
  const store = openedStore(temporaryPath());
  store.session("s").append([user("Where is the gateway?"), assistant("\n\n"), assistant("It is at port 80.")]);
  const found = await store.recall("gateway", { neighbors: 2 });
  expect(found.map(({ seq }) => seq)).toEqual([0, 2]);
  expect(found.map(({ neighbors }) => neighbors.map(({ seq }) => seq))).toEqual([[2], [0]]);
});
