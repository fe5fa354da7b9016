import { generateText, jsonSchema, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromAiSdk, toAiSdk } from "../../src/adapters/ai-sdk.ts";
import { openStore } from "../../src/index.ts";
import { base64, conversations, json, words } from "../support/adapter-arbitraries.ts";
import { aiSdkConversations, aiSdkProblems } from "../support/ai-sdk-messages.ts";
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
const returned = fc.record({ type: fc.constant("data" as const), data: json });
const said = (messages: unknown[]) => messages as ModelMessage[];

describeAdapter<ModelMessage[]>({
  name: "the AI SDK",
  to: toAiSdk,
  from: fromAiSdk,
  theirs: aiSdkConversations,
  oddities: [
    [],
    said([{ role: "system", content: [{ type: "text", text: "x" }] }]),
    said([
      { role: "user", content: [] },
      { role: "user", content: "" },
    ]),
    said([
      {
        role: "user",
        content: [null, "x", { type: "text" }, { type: "image", image: 7 }, { type: "file", data: "QUJD" }],
      },
    ]),
    said([
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "a" },
          { type: "source", url: "x" },
        ],
      },
    ]),
    said([
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "a1", approved: false, reason: "No." }] },
    ]),
    said([{ role: "tool", content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }] }]),
    said([
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "a", toolName: "f", output: { type: "execution-denied" } }],
      },
    ]),
  ],
  refused: [
    [
      said([
        { role: "user", content: "x" },
        { role: "robot", content: "x" },
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
    [said([{ role: "tool", content: [{ type: "text", text: "x" }] }]), "messages[0].content[0]"],
  ],
  ours: conversations({
    userPart: file,
    thought: fc.record({ type: fc.constant("reasoning" as const), text: words }),
    args: json,
    result: fc.oneof(
      fc.record({ content: words }),
      fc.record({ content: words, isError: fc.constant(true) }),
      fc.record({ content: fc.tuple(returned), isError: fc.constant(true) }),
      fc.record({ content: fc.tuple(returned) }),
      fc.record({ content: fc.array(fc.oneof(text, file), { maxLength: 3 }) }),
    ),
    resultsApart: false,
    resultNames: true,
    systemTexts: 1,
  }),
  listOf: (messages) => messages,
  problemsOf: aiSdkProblems,
});

test("bytes become base64, and URL objects texts", () => {
  const bytes = new Uint8Array([0, 65, 66, 67]).subarray(1);
  const messages = [
    {
      role: "user",
      content: [
        { type: "image", image: bytes },
        { type: "file", data: bytes.slice().buffer, mediaType: "application/pdf" },
        { type: "image", image: new URL("https://example.com/a.png") },
      ],
    },
  ] satisfies ModelMessage[];
  expect(toAiSdk(fromAiSdk(messages))).toEqual([
    {
      role: "user",
      content: [
        { type: "image", image: "QUJD" },
        { type: "file", data: "QUJD", mediaType: "application/pdf" },
        { type: "image", image: "https://example.com/a.png" },
      ],
    },
  ] satisfies ModelMessage[]);
});

test("an image of which nobody said what kind it is says so itself", () => {
  const images = ["iVBORw0KGgoAAAANSUhEUg==", "/9j/4AAQ", "R0lGODlh", "UklGRiQAAABXRUJQ", "QUJD"];
  const [message] = fromAiSdk({ role: "user", content: images.map((image) => ({ type: "image" as const, image })) });
  expect(message!.parts.map(({ mediaType }) => mediaType)).toEqual([
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/*",
  ]);
});

test("a call that the provider runs itself is no call of ours: nobody would answer it", () => {
  const served = { type: "tool-call", toolCallId: "s", toolName: "search", input: {}, providerExecuted: true } as const;
  expect(fromAiSdk({ role: "assistant", content: [served] })).toEqual([
    { role: "assistant", parts: [{ type: "data", provider: "aiSdk", data: served }] },
  ]);
});

test("a call that a person has to allow runs once that is passed after the context", async () => {
  const usage = {
    inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 3, text: 3, reasoning: 0 },
  };
  const reply = { usage, warnings: [] };
  const call = { type: "tool-call", toolCallId: "c1", toolName: "clean", input: "{}" } as const;
  const model = new MockLanguageModelV3({
    doGenerate: [
      { ...reply, content: [call], finishReason: { unified: "tool-calls", raw: undefined } },
      { ...reply, content: [{ type: "text", text: "Gone." }], finishReason: { unified: "stop", raw: undefined } },
    ],
  });
  const clean = tool({
    inputSchema: jsonSchema({ type: "object" }),
    needsApproval: true,
    execute: async () => "removed",
  });
  const ask = (messages: ModelMessage[]) => {
    return generateText({ model, messages, tools: { clean }, stopWhen: stepCountIs(5) });
  };

  const store = openStore(":memory:");
  const session = store.session("s");
  session.append({ role: "user", content: "Clean up." });
  const context = () => toAiSdk(session.render({ tokensMax: 8_000 }).messages);
  const asked = await ask(context());
  session.append(fromAiSdk(asked.response.messages));
  const request = asked.content.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
  const approval = { type: "tool-approval-response" as const, approvalId: request.approvalId, approved: true };
  const answered = await ask([...context(), { role: "tool", content: [approval] }]);
  session.append(fromAiSdk(answered.response.messages));

  expect(context().slice(2)).toMatchObject([
    { role: "tool", content: [{ toolCallId: "c1", output: { type: "text", value: "removed" } }] },
    { role: "assistant", content: [{ type: "text", text: "Gone." }] },
  ]);
  store.close();
});

test("a result knows the name of its tool, from its call if it does not say", () => {
  const [, answer] = toAiSdk([
    { role: "assistant", parts: [{ type: "tool_call", toolCallId: "c1", name: "run", args: {} }] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId: "c1", content: "ok" }] },
  ]);
  expect(answer).toEqual({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c1", toolName: "run", output: { type: "text", value: "ok" } }],
  } satisfies ModelMessage);
});
