import type { Message } from "@anthropic-ai/sdk/resources/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnthropicConversation, fromAnthropic, toAnthropic } from "../../src/adapters/anthropic.ts";
import type { MessageInput } from "../../src/index.ts";
import { base64, conversations, jsonObject, words } from "../support/adapter-arbitraries.ts";
import { anthropicConversations, anthropicProblems } from "../support/anthropic-messages.ts";
import { describeAdapter } from "./adapter.contract.ts";

const text = fc.record({ type: fc.constant("text" as const), text: words });
const file = fc.oneof(
  fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64 }),
  fc.record({
    type: fc.constant("file" as const),
    mediaType: fc.constant("application/pdf"),
    data: base64,
    name: words,
  }),
);
const said = (messages: unknown[]) => ({ messages }) as AnthropicConversation;
const result = (tool_use_id: string) => ({ type: "tool_result", tool_use_id, content: "ok" });

describeAdapter<AnthropicConversation>({
  name: "Anthropic",
  // Random conversations have more marks than Anthropic takes.
  to: (messages) => toAnthropic(messages, { cacheMarksMax: Number.POSITIVE_INFINITY }),
  from: fromAnthropic,
  theirs: anthropicConversations,
  oddities: [
    said([]),
    { system: "", messages: [] },
    said([{ role: "assistant", content: [] }]),
    said([{ role: "user", content: [] }]),
    said([{ role: "user", content: "" }]),
    said([{ role: "user", content: ["x", null, { type: "text" }, { type: "image", source: 7 }] }]),
    said([{ role: "user", content: [result("a"), { type: "text", text: "x" }, result("b")] }]),
    said([{ role: "user", content: [{ type: "text", text: "x" }, result("a")] }]),
    said([
      { role: "user", content: [result("a")] },
      { role: "user", content: [result("b")] },
    ]),
    said([
      { role: "user", content: "x" },
      { role: "system", content: [{ type: "text", text: "y" }] },
    ]),
    said([{ role: "assistant", content: [{ type: "tool_use", id: "", name: "f", input: {} }] }]),
    said([{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", is_error: null, content: [] }] }]),
    said([
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: { type: "text", text: "x" } }] },
    ]),
    said([{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: null }] }]),
  ],
  refused: [
    [
      said([
        { role: "user", content: "x" },
        { role: "tool", content: "x" },
      ]),
      "messages[1].role",
    ],
    [
      said([
        { role: "user", content: "x" },
        { role: "user", content: 7 },
      ]),
      "messages[1].content",
    ],
  ],
  ours: conversations({
    userPart: file,
    thought: fc.record({
      type: fc.constant("reasoning" as const),
      text: words,
      anthropic: fc.record({ signature: base64 }),
    }),
    args: jsonObject,
    result: fc.record(
      { content: fc.oneof(words, fc.array(fc.oneof(text, file), { maxLength: 3 })), isError: fc.boolean() },
      { requiredKeys: ["content"] },
    ),
    resultsApart: false,
    resultNames: false,
    systemTexts: 1,
  }),
  rules: "anthropic",
  listOf: ({ messages }) => messages,
  problemsOf: anthropicProblems,
});

describe("a reply", () => {
  const usage = { input_tokens: 10, output_tokens: 5 } as Message["usage"];
  const reply = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-opus-4-5",
    content: [
      { type: "thinking", thinking: "They want the weather.", signature: "c2ln" },
      { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" }, caller: { type: "direct" } },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage,
  } satisfies Message;

  test("is thought and called, with what it says of itself beside it", () => {
    const [message, ...others] = fromAnthropic(reply);
    expect(others).toEqual([]);
    expect(message!.parts).toEqual([
      { type: "reasoning", text: "They want the weather.", anthropic: { signature: "c2ln" } },
      {
        type: "tool_call",
        toolCallId: "toolu_1",
        name: "get_weather",
        args: { city: "Oslo" },
        anthropic: { caller: { type: "direct" } },
      },
    ]);
    const { reply: about } = (message!.metadata!.anthropic as { coppice: { reply: object } }).coppice;
    expect(about).toMatchObject({ id: "msg_1", model: "claude-opus-4-5", usage });
  });

  test("goes back as the message of a request, without that", () => {
    expect(toAnthropic(fromAnthropic(reply)).messages).toEqual([{ role: "assistant", content: reply.content }]);
  });
});

test("results of one step stand in one message, what else the user says in the next", () => {
  const answered = (toolCallId: string): MessageInput => {
    return { role: "tool", parts: [{ type: "tool_result", toolCallId, content: "ok" }] };
  };
  const { messages } = toAnthropic([answered("a"), answered("b"), { role: "user", content: "Go on." }]);
  expect(messages).toEqual([
    { role: "user", content: [result("a"), result("b")] },
    { role: "user", content: "Go on." },
  ]);
});

describe("marks for the prompt cache beyond Anthropic's limit", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const marked = (said: string) => ({ type: "text", text: said, ...mark });
  const conversation = (system: object[]) =>
    ({
      system,
      messages: [
        { role: "user", content: [marked("u0"), marked("u1")] },
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {}, ...mark }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "a", content: [marked("r0"), marked("r1")], ...mark }],
        },
      ],
    }) as AnthropicConversation;
  test("go from the oldest parts, and the newest four stay", () => {
    const ours = fromAnthropic(conversation([{ type: "text", text: "rules" }]));
    const request = toAnthropic(ours);
    expect(JSON.stringify(request).match(/cache_control/g)).toHaveLength(4);
    const [first, second, third] = request.messages as unknown as { content: Record<string, unknown>[] }[];
    expect(JSON.stringify(first)).not.toContain("cache_control");
    expect(second!.content[0]).toHaveProperty("cache_control");
    expect(JSON.stringify(third).match(/cache_control/g)).toHaveLength(3);
    expect(JSON.stringify(ours).match(/cache_control/g)).toHaveLength(6); // what was said stays marked
  });

  test("leave one for the system prompt, its last one", () => {
    const request = toAnthropic(fromAnthropic(conversation([marked("s0"), marked("s1")])));
    expect(request.system).toEqual([{ type: "text", text: "s0" }, marked("s1")]);
    expect(JSON.stringify(request.messages).match(/cache_control/g)).toHaveLength(3);
  });

  test("are fewer if the caller's tools need some", () => {
    const request = toAnthropic(fromAnthropic(conversation([])), { cacheMarksMax: 2 });
    expect(JSON.stringify(request).match(/cache_control/g)).toHaveLength(2);
    expect(JSON.stringify(toAnthropic(fromAnthropic(conversation([marked("s")])), { cacheMarksMax: 0 }))).not.toContain(
      "cache_control",
    );
  });
});

describe("thinking of another model", () => {
  const replyOf = (model: string, thinking: string) =>
    ({
      ...{ id: `msg_${thinking}`, type: "message", role: "assistant", model, stop_reason: "end_turn" },
      content: [
        { type: "thinking", thinking, signature: "c2ln" },
        { type: "redacted_thinking", data: "eA==" },
        { type: "text", text: `said ${thinking}` },
      ],
    }) as unknown as Message;
  const thoughtsIn = ({ messages }: AnthropicConversation) =>
    messages.flatMap(({ content }) =>
      typeof content === "string"
        ? []
        : (content as { type: string; thinking?: string }[]).flatMap(({ type, thinking }) =>
            type === "thinking" ? [thinking] : [],
          ),
    );
  const talk = [
    ...fromAnthropic(replyOf("claude-old-1-20250101", "one")),
    ...fromAnthropic(replyOf("claude-new-2-20260101", "two")),
  ];

  test("stays out of a request: by default the newest reply's model is the one that is asked", () => {
    const request = toAnthropic(talk);
    expect(thoughtsIn(request)).toEqual(["two"]);
    expect(request.messages[0]!.content).toBe("said one");
    expect(request.messages[1]!.content).toHaveLength(3);
  });

  test.each([
    "claude-old-1",
    "claude-old-1-latest",
    "us.anthropic.claude-old-1-20250101-v1:0",
    "claude-old-1@20250101",
  ])("is that of all but the given model, %s", (model) => {
    expect(thoughtsIn(toAnthropic(talk, { model }))).toEqual(["one"]);
  });

  test("is told by the model alone, which is not sent", () => {
    const content = [
      { type: "thinking", thinking: "one", signature: "c2ln" },
      { type: "text", text: "said" },
    ];
    const ours = fromAnthropic(said([{ role: "assistant", model: "claude-old-1", content }]));
    const request = toAnthropic([...ours, ...talk]);
    expect(thoughtsIn(request)).toEqual(["two"]);
    expect(JSON.stringify(request)).not.toContain("claude-old-1");
  });

  test("goes with a message that does not say which model wrote it", () => {
    const content = [{ type: "thinking", thinking: "who?", signature: "c2ln" }];
    const ours = fromAnthropic(said([{ role: "assistant", content }]));
    expect(thoughtsIn(toAnthropic([...ours, ...talk]))).toEqual(["who?", "two"]);
  });
});

test("thoughts that Anthropic has not signed are left out", () => {
  const { messages } = toAnthropic([
    { role: "assistant", parts: [{ type: "reasoning", text: "Hm." }] },
    {
      role: "assistant",
      parts: [
        { type: "reasoning", text: "Hm.", openai: { coppice: { field: "reasoning" } } },
        { type: "reasoning", text: "Hm.", anthropic: { signature: "" } },
        { type: "reasoning", text: "So.", anthropic: { signature: "c2ln" } },
        { type: "text", text: "Yes." },
      ],
    },
  ]);
  expect(messages).toEqual([
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "So.", signature: "c2ln" },
        { type: "text", text: "Yes." },
      ],
    },
  ]);
});

test.each([null, "ci.yml", [1]])("a call with %j for its input is a call, and goes back with an object", (input) => {
  const call = { type: "tool_use", id: "a", name: "f" };
  const ours = fromAnthropic(said([{ role: "assistant", content: [{ ...call, input }] }]));
  expect(ours[0]!.parts).toEqual([{ type: "tool_call", toolCallId: "a", name: "f", args: input }]);
  const [message] = toAnthropic(ours).messages;
  expect(message!.content).toEqual([{ ...call, input: input === null ? {} : { input } }]);
});

test("an id that Anthropic refuses becomes another in the call and in its result", () => {
  const { messages } = toAnthropic([
    { role: "assistant", parts: [{ type: "tool_call", toolCallId: "read.1", name: "读", args: "ci.yml" }] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId: "read.1", content: "…" }] },
  ]);
  const [call, answer] = messages.map(({ content }) => content[0] as unknown as Record<string, unknown>);
  expect(call).toMatchObject({ input: { input: "ci.yml" }, name: expect.stringMatching(/^__[0-9a-f]{8}$/) });
  expect(call!.id).toMatch(/^read_1_[0-9a-f]{8}$/);
  expect(answer!.tool_use_id).toBe(call!.id);
});
