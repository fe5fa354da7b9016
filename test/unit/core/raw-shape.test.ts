import { expect, test } from "vitest";
import { fromAiSdk, fromUiMessages } from "../../../src/adapters/ai-sdk.ts";
import { fromAnthropic } from "../../../src/adapters/anthropic.ts";
import { fromGemini } from "../../../src/adapters/gemini.ts";
import { fromLlxprt } from "../../../src/adapters/llxprt.ts";
import { fromOpenai } from "../../../src/adapters/openai.ts";
import { StoreError } from "../../../src/core/errors.ts";
import { parseMessage } from "../../../src/core/message.ts";

type Adapter = (message: never) => object[];

const FROM: Record<string, Adapter> = { fromOpenai, fromAnthropic, fromGemini, fromAiSdk, fromUiMessages, fromLlxprt };

const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"at":"lamp"}' } };

function hintFor(message: unknown): string | undefined {
  try {
    parseMessage(message);
  } catch (error) {
    expect(StoreError.is(error, "MESSAGE_INVALID")).toBe(true);
    return (error as StoreError).hint;
  }
  return undefined;
}

test.each<[string, object]>([
  ["fromOpenai", { role: "assistant", content: "Looking.", tool_calls: [call] }],
  ["fromOpenai", { role: "assistant", content: null, tool_calls: [call], refusal: null, annotations: [] }],
  ["fromOpenai", { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }],
  ["fromOpenai", { role: "tool", tool_call_id: "c1", content: "on" }],
  ["fromOpenai", { role: "developer", content: "Be brief." }],
  ["fromOpenai", { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.org/a.png" } }] }],
  ["fromAnthropic", { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] }],
  ["fromAnthropic", { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "on" }] }],
  ["fromAnthropic", { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }] }],
  [
    "fromAnthropic",
    { role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }] },
  ],
  ["fromGemini", { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }],
  ["fromGemini", { role: "model", parts: [{ text: "On." }] }],
  ["fromGemini", { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "on" } } }] }],
  ["fromGemini", { role: "user", parts: [{ text: "Is it on?" }] }],
  ["fromAiSdk", { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} }] }],
  [
    "fromAiSdk",
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "text", value: "on" } }],
    },
  ],
  [
    "fromUiMessages",
    {
      id: "m1",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "tool-look", toolCallId: "c1", state: "output-available", input: {}, output: "on" },
      ],
    },
  ],
  ["fromLlxprt", { speaker: "ai", blocks: [{ type: "text", text: "On." }] }],
])("a raw message is refused, and %s takes it: %j", (name, message) => {
  expect(hintFor(message)).toContain(`\`${name}\``);
  const converted = FROM[name]!(message as never);
  expect(converted.length).toBeGreaterThan(0);
  for (const ours of converted) expect(hintFor(ours)).toBeUndefined();
});

test.each([
  { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "c1", output: "on" },
  { type: "reasoning", id: "r1", summary: [] },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "On." }] },
  { role: "user", content: [{ type: "input_text", text: "Is it on?" }] },
])("an item of the Responses API is refused with the way to store it: %j", (item) => {
  expect(hintFor(item)).toContain("`coppice/openai-agents`");
});

test.each([
  [{ role: "assistant", content: "a", toolInvocations: [{ toolCallId: "c1" }] }, "toolInvocations"],
  [{ role: "assistant", content: "a", tool_calls: [{ id: "c1", name: "look", args: {} }] }, "tool_calls"],
])("calls outside the parts are refused in any format: %j", (message, path) => {
  expect(() => parseMessage(message)).toThrow(expect.objectContaining({ details: expect.objectContaining({ path }) }));
});

test.each([
  { role: "assistant", content: "a", tool_calls: [] },
  { role: "assistant", content: "a", refusal: null, annotations: [] },
])("a reply of OpenAI without calls is known by its empty fields: %j", (message) => {
  expect(hintFor(message)).toContain("fromOpenai");
});

test("calls that are only metadata are taken", () => {
  expect(hintFor({ role: "user", content: "a", metadata: { tool_calls: [call] } })).toBeUndefined();
});

test.each([{ role: "user" }, { role: "assistant", parts: [{ type: "tool_call", toolCallId: "" }] }, 7, null])(
  "what resembles no format gets the plain hint: %j",
  (message) => {
    expect(hintFor(message)).toBe("Nothing was written. Change the named field and append the message again.");
  },
);
