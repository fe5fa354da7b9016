import { convertToModelMessages, type UIMessage, validateUIMessages } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromUiMessages, toAiSdk, toUiMessages } from "../../src/adapters/ai-sdk.ts";
import { base64, conversations, json, words } from "../support/adapter-arbitraries.ts";
import { uiChats, uiProblems } from "../support/ui-messages.ts";
import { describeAdapter } from "./adapter.contract.ts";

const file = fc.oneof(
  fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64, name: words }),
  fc.record({
    type: fc.constant("file" as const),
    mediaType: fc.constant("video/mp4"),
    url: fc.constant("https://example.com/a"),
  }),
);
const returned = fc.record({
  type: fc.constant("data" as const),
  data: json.filter((value) => typeof value !== "string"),
});
const said = (...messages: unknown[]) => messages as UIMessage[];

describeAdapter<UIMessage[]>({
  name: "UI messages of the AI SDK",
  to: toUiMessages,
  from: fromUiMessages,
  theirs: uiChats,
  oddities: [
    [],
    said(
      { id: "a", role: "assistant", parts: [] },
      { id: "b", role: "assistant", parts: [{ type: "text", text: "x" }] },
    ),
    said({ id: "a", role: "user", parts: ["x", null, { type: "text" }, { type: "file", url: 7 }] }),
    said({
      id: "a",
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "step-start" }, { type: "text", text: "x" }],
    }),
    said({ id: "a", role: "assistant", parts: [{ type: "text", text: "x" }, { type: "step-start" }] }),
    said({ id: "a", role: "assistant", parts: [{ type: "tool-f", toolCallId: "c", state: "input-streaming" }] }),
    said({
      id: "a",
      role: "assistant",
      parts: [
        { type: "tool-f", toolCallId: "c", state: "output-denied", input: {}, approval: { id: "p", approved: false } },
        { type: "tool-f", toolCallId: "d", state: "output-denied", input: {} },
      ],
    }),
    said({
      id: "a",
      role: "assistant",
      parts: [
        { type: "tool-f", toolCallId: "c", state: "output-available", input: {}, output: 1, providerExecuted: true },
        { type: "tool-", toolCallId: "c", state: "input-available", input: {} },
      ],
    }),
  ],
  refused: [
    [said({ id: "a", role: "user", parts: [] }, { id: "x", role: "tool", parts: [] }), "messages[1].role"],
    [said({ id: "a", role: "user", parts: [] }, { id: "x", role: "user", content: "x" }), "messages[1].parts"],
  ],
  ours: conversations({
    userPart: file,
    thought: fc.record({ type: fc.constant("reasoning" as const), text: words }),
    args: json,
    result: fc.oneof(
      fc.record({ content: words }),
      fc.record({ content: words, isError: fc.constant(true) }),
      fc.record({ content: fc.tuple(returned) }),
    ),
    resultsApart: false,
    resultNames: true,
    systemTexts: 2,
  }),
  listOf: (messages) => messages,
  problemsOf: uiProblems,
});

const chat = [
  { id: "u", role: "user", parts: [{ type: "text", text: "What is the weather in Oslo?" }] },
  {
    id: "a",
    role: "assistant",
    metadata: { model: "m" },
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Which city?", providerMetadata: { anthropic: { signature: "c2ln" } } },
      {
        type: "dynamic-tool",
        toolName: "weather",
        toolCallId: "c1",
        state: "output-available",
        input: { city: "Oslo" },
        output: { sky: "rain" },
      },
      { type: "step-start" },
      { type: "text", text: "Rain.", state: "done" },
      { type: "source-url", sourceId: "s", url: "https://example.com" },
    ],
  },
] satisfies UIMessage[];

test("a turn of several steps becomes their messages, and is one again", async () => {
  const messages = fromUiMessages(chat);
  expect(messages.map(({ role, parts }) => `${role}: ${parts.map(({ type }) => type).join(" ")}`)).toEqual([
    "user: text",
    "assistant: reasoning tool_call",
    "tool: tool_result",
    "assistant: text data",
  ]);
  expect(toUiMessages(messages)).toEqual(chat);
  expect(await validateUIMessages({ messages: toUiMessages(messages) })).toEqual(chat);
});

test("what a model gets of UI messages is what the SDK itself would give it", async () => {
  const byTheSdk = (await convertToModelMessages(chat)).map(({ role, content }) => ({
    role,
    content: listOf(content),
  }));
  const ours = toAiSdk(fromUiMessages(chat)).map(({ role, content }) => ({ role, content: listOf(content) }));
  expect(ours).toEqual(byTheSdk);
});

function listOf(content: unknown): unknown {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

test.each([
  [{ id: "p", approved: false, reason: "Not now." }, "Not now."],
  [{ id: "p", approved: false }, "Tool execution denied."],
])("a call that a person did not allow, as %j says, is answered", (approval, content) => {
  const call = { type: "tool-send", toolCallId: "c", state: "output-denied", input: {}, approval };
  const [, answer] = fromUiMessages(said({ id: "a", role: "assistant", parts: [call] }));
  expect(answer!.parts).toMatchObject([{ type: "tool_result", toolCallId: "c", name: "send", content, isError: true }]);
});

test("a call that waits is the same part as one that has its result", () => {
  const call = { type: "tool-send", toolCallId: "c", state: "input-available", input: {} };
  const partIn = (part: object) => fromUiMessages(said({ id: "a", role: "assistant", parts: [part] }))[0]!.parts[0];
  expect(partIn(call)).toEqual(partIn({ ...call, state: "output-available", output: 1 }));
});
