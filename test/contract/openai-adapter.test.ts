import fc from "fast-check";
import type { ChatCompletionMessage, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { describe, expect, test } from "vitest";
import { fromOpenai, type OpenaiMessage, toOpenai } from "../../src/adapters/openai.ts";
import { wellFormed } from "../../src/core/well-formed.ts";
import { base64, conversations, json, words } from "../support/adapter-arbitraries.ts";
import { openaiConversations, openaiProblems } from "../support/openai-messages.ts";
import { describeAdapter } from "./adapter.contract.ts";

/** Arguments are JSON in a string. They are written anew if they hold a lone surrogate. */
function withSentArguments(message: OpenaiMessage): OpenaiMessage {
  const calls = (message as { tool_calls?: { function?: { arguments?: unknown } }[] }).tool_calls;
  if (!Array.isArray(calls)) return message;
  const sent = calls.map((call) => {
    const given = call?.function?.arguments;
    if (typeof given !== "string" || !/\\ud[89a-f]/i.test(given)) return call;
    return { ...call, function: { ...call.function, arguments: JSON.stringify(wellFormed(JSON.parse(given))) } };
  });
  return { ...message, tool_calls: sent } as OpenaiMessage;
}

const text = fc.record({ type: fc.constant("text" as const), text: words });
const said = (...messages: unknown[]) => messages as OpenaiMessage[];

describeAdapter<OpenaiMessage[]>({
  name: "OpenAI",
  to: toOpenai,
  from: fromOpenai,
  theirs: openaiConversations,
  sent: (messages) => wellFormed(messages.map(withSentArguments)),
  oddities: [
    [],
    [{ role: "assistant", content: null, refusal: null }],
    [{ role: "assistant", content: [] }],
    [{ role: "assistant", content: "", tool_calls: [] }],
    said({ role: "assistant", reasoning_content: "Hm.", content: null }),
    [{ role: "assistant" }],
    [
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: null },
    ],
    [{ role: "user", content: [] }],
    [{ role: "user", content: "", name: "not a name" }],
    said({ role: "user", content: [{ type: "image_url", image_url: "https://x" }] }),
    said({ role: "user", content: ["x", null, { type: "text" }] }),
    said({ role: "assistant", content: null, tool_calls: [{ id: "a" }] }),
    said({ role: "assistant", content: "x", tool_calls: [7, { id: "a", function: { name: "f" } }] }),
    said({ role: "tool", tool_call_id: "a", content: [] }, { role: "tool", tool_call_id: "a" }),
  ],
  refused: [
    [said({ role: "user", content: "x" }, { role: "robot", content: "x" }), "messages[1].role"],
    [said({ role: "user", content: "x" }, { role: "tool", content: "x" }), "messages[1].tool_call_id"],
    [said({ role: "user", content: "x" }, { role: "user", content: 7 }), "messages[1].content"],
  ],
  ours: conversations({
    userPart: fc.oneof(
      fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64 }),
      fc.record({
        type: fc.constant("file" as const),
        mediaType: fc.constant("application/pdf"),
        data: base64,
        name: words,
      }),
    ),
    args: json,
    result: fc.record({ content: fc.oneof(words, fc.array(text, { maxLength: 3 })) }),
    resultsApart: true,
    resultNames: false,
    systemTexts: 2,
  }),
  rules: "openai",
  listOf: (messages) => messages,
  problemsOf: openaiProblems,
});

describe("an answer with a tool call", () => {
  // The parameters are what the model writes, spaces included.
  const reply = {
    role: "assistant",
    content: null,
    refusal: null,
    annotations: [],
    tool_calls: [{ id: "call_9", type: "function", function: { name: "get_weather", arguments: '{"city": "Oslo"}' } }],
  } satisfies ChatCompletionMessage;

  test("is a call of ours, with what is OpenAI's own beside it", () => {
    expect(fromOpenai(reply)).toEqual([
      {
        role: "assistant",
        parts: [
          {
            type: "tool_call",
            toolCallId: "call_9",
            name: "get_weather",
            args: { city: "Oslo" },
            openai: { coppice: { raw: '{"city": "Oslo"}' } },
          },
        ],
        metadata: { openai: { refusal: null, annotations: [] } },
      },
    ]);
  });

  test("is sent with other arguments once these have been shortened", () => {
    const [message] = fromOpenai(reply);
    const [call] = message!.parts!;
    const [sent] = toOpenai([{ ...message!, parts: [{ ...call!, args: { city: "O…" } }] }]);
    expect(sent).toMatchObject({ tool_calls: [{ function: { arguments: '{"city":"O…"}' } }] });
  });
});

test("what OpenAI has no place for has words standing for it, or is left out", () => {
  expect(
    toOpenai([
      { role: "assistant", parts: [{ type: "reasoning", text: "Hm.", anthropic: { signature: "s" } }] },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Hm." },
          { type: "data", data: { a: 1 } },
        ],
      },
      {
        role: "tool",
        parts: [
          {
            type: "tool_result",
            toolCallId: "a",
            isError: true,
            content: [{ type: "file", mediaType: "image/png", name: "a.png", data: "QUJD" }],
          },
          { type: "tool_result", toolCallId: "b", content: "fine" },
        ],
      },
    ]),
  ).toEqual([
    { role: "assistant", content: '{"a":1}' },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: '[file image/png "a.png" (3 bytes)]' }] },
    { role: "tool", tool_call_id: "b", content: "fine" },
  ] satisfies ChatCompletionMessageParam[]);
});

test("a call whose id or name OpenAI refuses gets another, and its result the same", () => {
  const toolCallId = `hist_tool_${"0123456789".repeat(4)}`;
  const sent = toOpenai([
    { role: "assistant", parts: [{ type: "tool_call", toolCallId, name: "web.search/v2", args: {} }] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId, content: "…" }] },
    {
      role: "assistant",
      parts: [{ type: "tool_call", toolCallId: `${toolCallId}0`, name: "web_search_v2", args: {} }],
    },
  ]) as unknown as [
    { tool_calls: { id: string; function: { name: string } }[] },
    { tool_call_id: string },
    { tool_calls: { id: string }[] },
  ];
  expect(sent[0].tool_calls[0]!.id).toMatch(/^hist_tool_012345678901234567890_[0-9a-f]{8}$/);
  expect(sent[1].tool_call_id).toBe(sent[0].tool_calls[0]!.id);
  expect(sent[2].tool_calls[0]!.id).not.toBe(sent[0].tool_calls[0]!.id);
  expect(sent[0].tool_calls[0]!.function.name).toMatch(/^web_search_v2_[0-9a-f]{8}$/);
});

test("calls beside one that is none stay calls, and arguments that were read go back as a text", () => {
  const called = (id: unknown, args: unknown) => ({ id, type: "function", function: { name: "f", arguments: args } });
  const tool_calls = [called("a", { x: 1 }), called(7, "{}"), called("b", '{"x":2}')];
  const ours = fromOpenai({ role: "assistant", content: null, tool_calls } as unknown as OpenaiMessage);
  expect(ours[0]!.parts).toMatchObject([
    { type: "tool_call", toolCallId: "a", args: { x: 1 } },
    { type: "data", provider: "openai", data: tool_calls[1] },
    { type: "tool_call", toolCallId: "b", args: { x: 2 } },
  ]);
  const written = [called("a", '{"x":1}'), tool_calls[1], tool_calls[2]];
  expect(toOpenai(ours)).toEqual([{ role: "assistant", content: null, tool_calls: written }]);
});
