import { describe, expect, test } from "vitest";
import { type MessageInput, type PartInput, repairToolPairs } from "../../../../src/index.ts";

const text = (said: string): PartInput => ({ type: "text", text: said });
const call = (toolCallId: string): PartInput => ({ type: "tool_call", toolCallId, name: "run", args: {} });
const result = (toolCallId: string): PartInput => ({ type: "tool_result", toolCallId, content: `of ${toolCallId}` });
const assistant = (...parts: PartInput[]): MessageInput => ({ role: "assistant", parts });
const tool = (...parts: PartInput[]): MessageInput => ({ role: "tool", parts });
const question: MessageInput = { role: "user", content: "Why did the deploy fail?" };

test("gives a history in order back as the very same messages", () => {
  const history = [
    { role: "system" as const, content: "" },
    question,
    assistant(text("I look."), call("call_0"), call("call_1")),
    tool(result("call_1")),
    tool(result("call_0")),
    assistant(call("call_0")), // ids repeat from step to step
    tool(result("call_0")),
    assistant(),
  ];
  const { messages, removed, changed } = repairToolPairs(history);
  expect(messages.map((message, index) => message === history[index])).toEqual(history.map(() => true));
  expect([removed, changed]).toEqual([[], []]);
});

describe("removes", () => {
  test("a call that was interrupted, and keeps what was said beside it", () => {
    const history = [question, { ...assistant(text("I look."), call("a")), id: "m2" }, question];
    const { messages, removed, changed } = repairToolPairs(history);
    expect(messages).toEqual([question, { role: "assistant", id: "m2", parts: [text("I look.")] }, question]);
    expect(removed).toEqual([{ kind: "call", messageIndex: 1, partIndex: 1, toolCallId: "a", reason: "unanswered" }]);
    expect(changed).toEqual([{ messageIndex: 1, index: 1 }]);
  });

  test("a result whose call was cut off, with the message that nothing is left of", () => {
    const { messages, removed, changed } = repairToolPairs([tool(result("a")), question]);
    expect(messages).toEqual([question]);
    expect(removed).toEqual([
      { kind: "result", messageIndex: 0, partIndex: 0, toolCallId: "a", reason: "unasked" },
      { kind: "message", messageIndex: 0 },
    ]);
    expect(changed).toEqual([]);
  });

  test("the second answer to a call", () => {
    const { messages, removed, changed } = repairToolPairs([
      assistant(call("a"), call("b")),
      tool(result("a"), result("a"), result("b")),
      tool(result("b")),
    ]);
    expect(messages).toEqual([assistant(call("a"), call("b")), tool(result("a"), result("b"))]);
    expect(removed).toEqual([
      { kind: "result", messageIndex: 1, partIndex: 1, toolCallId: "a", reason: "repeated" },
      { kind: "result", messageIndex: 2, partIndex: 0, toolCallId: "b", reason: "repeated" },
      { kind: "message", messageIndex: 2 },
    ]);
    expect(changed).toEqual([{ messageIndex: 1, index: 1 }]);
  });

  test("the later of two calls with the same id, where one result came", () => {
    const { messages, removed } = repairToolPairs([assistant(call("a"), text("and"), call("a")), tool(result("a"))]);
    expect(messages).toEqual([assistant(call("a"), text("and")), tool(result("a"))]);
    expect(removed).toMatchObject([{ partIndex: 2 }]);
  });

  test("a message of which only reasoning or blanks are left", () => {
    const thinking: PartInput = { type: "reasoning", text: "Hm." };
    expect(repairToolPairs([assistant(thinking, text(" "), call("a")), question]).messages).toEqual([question]);
  });

  test("a call and a result in a message of the wrong role", () => {
    const { messages, removed } = repairToolPairs<MessageInput>([
      assistant(call("a")),
      tool(result("a")),
      { role: "user", content: [text("Look:"), call("b"), result("a")] },
    ]);
    expect(messages[2]).toEqual({ role: "user", content: [text("Look:")] });
    expect(removed).toMatchObject([
      { kind: "call", partIndex: 1, reason: "misplaced" },
      { kind: "result", partIndex: 2, reason: "misplaced" },
    ]);
  });
});

test("passes on what is no message of ours, for append to refuse", () => {
  const history = [
    { role: "assistant", content: null },
    { role: "user", parts: [null] },
  ] as unknown as MessageInput[];
  const { messages, removed, changed } = repairToolPairs(history);
  expect(messages).toEqual(history);
  expect([removed, changed]).toEqual([[], []]);
});
