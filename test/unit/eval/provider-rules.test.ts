import { describe, expect, test } from "vitest";
import { breachesOf, withOpenCallsAnswered } from "../../../scripts/eval/provider-rules.ts";
import type { ContextMessage, Part } from "../../../src/index.ts";

const say = (role: "system" | "user" | "assistant", text: string): ContextMessage => {
  return { role, parts: [{ type: "text", text }] };
};
const call = (toolCallId: string): Part => ({ type: "tool_call", toolCallId, name: "run", args: {} });
const result = (toolCallId: string): Part => ({ type: "tool_result", toolCallId, content: "ok" });
const asks = (...ids: string[]): ContextMessage => ({ role: "assistant", parts: ids.map(call) });
const answers = (...ids: string[]): ContextMessage => ({ role: "tool", parts: ids.map(result) });
const question = say("user", "Why did the deploy fail?");

/** Providers that refuse a context, in alphabetical order. */
function refusedBy(messages: readonly ContextMessage[]): string[] {
  return [...new Set(breachesOf(messages).map(({ provider }) => provider))].sort();
}

const ALL = ["anthropic", "gemini", "openai"];

describe("refuses", () => {
  const broken: [what: string, messages: ContextMessage[], by: string[]][] = [
    ["a call that is never answered", [question, asks("a"), question], ALL],
    ["a result without its call", [question, answers("a"), question], ALL],
    ["a result that comes before its call", [question, answers("a"), asks("a"), question], ALL],
    ["a call that is answered only after the user spoke", [question, asks("a"), question, answers("a")], ALL],
    ["two calls of which one is answered", [question, asks("a", "b"), answers("a"), question], ALL],
    ["a call that is answered twice", [question, asks("a"), answers("a"), answers("a")], ALL],
    ["a result with the id of an earlier step", [question, asks("a"), answers("a"), asks("b"), answers("a")], ALL],
    [
      "calls of two messages answered together at the end",
      [question, asks("a"), asks("b"), answers("a", "b")],
      ["openai"],
    ],
    ["two steps that use the same id", [question, asks("a"), answers("a"), asks("a"), answers("a")], ["anthropic"]],
    ["a message without parts", [question, { role: "assistant", parts: [] }], ALL],
    [
      "a message of reasoning alone",
      [question, { role: "assistant", parts: [{ type: "reasoning", text: "Hm." }] }],
      ALL,
    ],
    [
      "a blank text beside a call",
      [question, { role: "assistant", parts: [{ type: "text", text: "\n" }, call("a")] }, answers("a")],
      ALL,
    ],
    [
      "a context that begins with the assistant",
      [say("system", "Be brief."), say("assistant", "Hello!"), question],
      ["anthropic", "gemini"],
    ],
    ["a context that begins with a call", [asks("a"), answers("a")], ["anthropic", "gemini"]],
    ["system messages and nothing else", [say("system", "Be brief.")], ["anthropic", "gemini"]],
    ["nothing at all", [], ALL],
    [
      "a system message between a call and its result",
      [question, asks("a"), say("system", "Be brief."), answers("a")],
      ["openai"],
    ],
    ["a call by the user", [question, { role: "user", parts: [call("a")] }, answers("a")], ALL],
    ["a tool message without a result", [question, asks("a"), answers("a"), { role: "tool", parts: [] }], ALL],
  ];

  test.each(broken)("%s", (_, messages, by) => {
    expect(refusedBy(messages)).toEqual(by);
  });
});

describe("accepts", () => {
  const legal: [what: string, messages: ContextMessage[]][] = [
    ["a question", [question]],
    [
      "system messages first, two messages of the user, an answer",
      [say("system", "Be brief."), question, question, say("assistant", "No lock.")],
    ],
    [
      "steps of several calls, answered in one message or several, in any order",
      [question, asks("a", "b"), answers("b"), answers("a"), asks("c", "d"), answers("d", "c"), say("user", "Go on.")],
    ],
    [
      "a call after a text of the same turn",
      [question, say("assistant", "I look."), asks("a"), answers("a"), say("assistant", "It is gone.")],
    ],
    [
      "a result without text",
      [question, asks("a"), { role: "tool", parts: [{ ...result("a"), content: "" } as Part] }],
    ],
    [
      "files and data",
      [
        {
          role: "user",
          parts: [
            { type: "file", mediaType: "image/png", data: "AAAA" },
            { type: "data", data: 1 },
          ],
        },
      ],
    ],
  ];

  test.each(legal)("%s", (_, messages) => {
    expect(breachesOf(messages)).toEqual([]);
  });
});

describe("calls that stand open at the end", () => {
  test("are answered by the host before it sends them", () => {
    const open = [question, asks("a", "b"), answers("b")];
    expect(refusedBy(open)).toEqual(ALL);
    const sent = withOpenCallsAnswered(open);
    expect(sent.slice(0, 3)).toEqual(open);
    expect(sent.slice(3)).toMatchObject([{ role: "tool", parts: [{ toolCallId: "a" }] }]);
    expect(breachesOf(sent)).toEqual([]);
  });

  test("are not open where something follows", () => {
    const interrupted = [question, asks("a"), question];
    expect(withOpenCallsAnswered(interrupted)).toEqual(interrupted);
  });
});
