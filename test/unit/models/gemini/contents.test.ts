import { expect, test } from "vitest";
import type { ToolCallPart, ToolResultPart } from "../../../../src/core/message.ts";
import type { ChatMessage } from "../../../../src/models/chat-model.ts";
import { contentsOf } from "../../../../src/models/gemini/contents.ts";

const MODEL = "gemini-3.1-flash-lite";

const said = (role: ChatMessage["role"], text: string): ChatMessage => ({ role, parts: [{ type: "text", text }] });
const call = (toolCallId: string, fields: object = {}): ToolCallPart => {
  return { type: "tool_call", toolCallId, name: "read", args: { path: toolCallId }, ...fields };
};
const result = (toolCallId: string, fields: object = {}): ToolResultPart => {
  return { type: "tool_result", toolCallId, content: `text of ${toolCallId}`, ...fields };
};
const contents = (messages: ChatMessage[], model = MODEL) =>
  contentsOf(messages, { model, redact: undefined }).contents;

test("system messages stand apart, and neighbors of one role are one content", () => {
  const messages = [
    said("system", "be kind"),
    said("user", "a"),
    said("user", "b"),
    said("system", "be brief"),
    said("user", "c"),
    said("assistant", "d"),
    said("assistant", "e"),
  ];
  expect(contentsOf(messages, { model: MODEL, redact: undefined })).toEqual({
    system: ["be kind", "be brief"],
    contents: [
      { role: "user", parts: [{ text: "a" }, { text: "b" }, { text: "c" }] },
      { role: "model", parts: [{ text: "d" }, { text: "e" }] },
    ],
  });
});

test("results are one content, and answer by the ids that Gemini gave", () => {
  const messages: ChatMessage[] = [
    said("user", "q"),
    { role: "assistant", parts: [call("a"), call("b")], metadata: { model: MODEL } },
    { role: "tool", parts: [result("b", { isError: true })] },
    { role: "tool", parts: [result("a")] },
  ];
  expect(contents(messages)[2]).toEqual({
    role: "user",
    parts: [
      { functionResponse: { id: "b", name: "read", response: { error: "text of b" } } },
      { functionResponse: { id: "a", name: "read", response: { output: "text of a" } } },
    ],
  });
});

test("a call without a result is sent as interrupted", () => {
  const messages: ChatMessage[] = [
    said("user", "q"),
    { role: "assistant", parts: [call("a"), call("b")] },
    { role: "tool", parts: [result("a")] },
  ];
  const [, , responses] = contents(messages);
  expect(responses!.parts![1]).toEqual({
    functionResponse: { name: "read", response: { error: "Interrupted: this call has no result." } },
  });
  expect(contents(messages.slice(0, 2))).toHaveLength(3);
});

test("results answer calls of one id in turn", () => {
  const messages: ChatMessage[] = [
    said("user", "q"),
    { role: "assistant", parts: [call("a"), call("a")] },
    { role: "tool", parts: [result("a", { content: "first" }), result("a", { content: "second" })] },
  ];
  const responses = contents(messages)[2]!.parts!.map(({ functionResponse }) => functionResponse!.response);
  expect(responses).toEqual([{ output: "first" }, { output: "second" }]);
});

test("signatures go back to the model that gave them, and to no other", () => {
  const signed: ChatMessage = {
    role: "assistant",
    parts: [
      { type: "text", text: "x", gemini: { thoughtSignature: "dGV4dA==" } },
      call("a", { gemini: { thoughtSignature: "c2ln" } }),
    ],
    metadata: { model: MODEL },
  };
  const partsFor = (model: string) => contents([said("user", "q"), signed], model)[1]!.parts!;
  const functionCall = { name: "read", args: { path: "a" } };
  expect(partsFor(MODEL)).toEqual([
    { text: "x", thoughtSignature: "dGV4dA==" },
    { functionCall: { id: "a", ...functionCall }, thoughtSignature: "c2ln" },
  ]);
  expect(partsFor("gemini-3-pro")).toEqual([
    { text: "x" },
    { functionCall, thoughtSignature: "skip_thought_signature_validator" },
  ]);
  expect(partsFor("gemini-2.5-flash")).toEqual([{ text: "x" }, { functionCall }]);
});

test("the first of several calls without a signature gets a placeholder", () => {
  const [, model] = contents([said("user", "q"), { role: "assistant", parts: [call("a"), call("b")] }]);
  expect(model!.parts!.map(({ thoughtSignature }) => thoughtSignature)).toEqual([
    "skip_thought_signature_validator",
    undefined,
  ]);
});

test("reasoning is not sent, files in results are named, and arguments become an object", () => {
  const png = { type: "file" as const, mediaType: "image/png", name: "a.png", data: "iVBORw0=" };
  const messages: ChatMessage[] = [
    { role: "user", parts: [png, { type: "file", mediaType: "image/png", name: "b.png", url: "https://x/b.png" }] },
    {
      role: "assistant",
      parts: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "look" },
        { ...call("a"), args: [1] },
      ],
    },
    { role: "tool", parts: [result("a", { content: [{ type: "text", text: "seen" }, png] })] },
  ];
  const [user, model, tool] = contents(messages);
  expect(user!.parts![0]).toEqual({ inlineData: { mimeType: "image/png", data: "iVBORw0=" } });
  expect(user!.parts![1]!.text).toMatch(/^\[file .*b\.png.*\]$/);
  expect(model!.parts).toMatchObject([{ text: "look" }, { functionCall: { args: { input: [1] } } }]);
  expect(tool!.parts![0]!.functionResponse!.response!.output).toMatch(/^seen\n\[file .*a\.png.*\]$/);
});

test("a file that Gemini cannot read is named, and one whose kind is misspelt is sent", () => {
  const file = (mediaType: string) => ({ type: "file" as const, mediaType, name: "a", data: "iVBORw0=" });
  const kinds = ["image/gif", "image/jpg", "application/zip", "text/plain"];
  const [{ parts }] = contents([{ role: "user", parts: kinds.map(file) }]) as [{ parts: object[] }];
  expect(parts).toEqual([
    { text: expect.stringContaining("image/gif") },
    { inlineData: { mimeType: "image/jpeg", data: "iVBORw0=" } },
    { text: expect.stringContaining("application/zip") },
    { inlineData: { mimeType: "text/plain", data: "iVBORw0=" } },
  ]);
});

test("a text that is empty after redaction is sent as an ellipsis", () => {
  const messages = [said("user", "secret"), said("assistant", "secret")];
  const sent = contentsOf(messages, { model: MODEL, redact: () => "" });
  expect(sent.contents.map(({ parts }) => parts)).toEqual([[{ text: "…" }], [{ text: "…" }]]);
});

test("tool names that Gemini refuses are replaced in calls and results", () => {
  const names = ["fs/read file", "1st", "x\x1b[2J".repeat(50)];
  const parts = names.map((name, index) => call(`c${index}`, { name }));
  const messages: ChatMessage[] = [
    said("user", "q"),
    { role: "assistant", parts },
    { role: "tool", parts: names.map((_, index) => result(`c${index}`)) },
  ];
  const [, model, responses] = contents(messages);
  const called = model!.parts!.map(({ functionCall }) => functionCall!.name!);
  expect(called.slice(0, 2)).toEqual([expect.stringMatching(/^fs_read_file_/), expect.stringMatching(/^_st_/)]);
  for (const name of called) expect(name).toMatch(/^[A-Za-z_][\w.:-]{0,63}$/);
  expect(responses!.parts!.map(({ functionResponse }) => functionResponse!.name)).toEqual(called);
});

test("unpaired surrogates are replaced", () => {
  const half = "\ud83d";
  const messages: ChatMessage[] = [
    said("system", `a${half}`),
    said("user", `b${half} \u{1f44d}`),
    { role: "assistant", parts: [call("c", { args: { [`k${half}`]: [`v${half}`] } })] },
    { role: "tool", parts: [result("c", { content: `d${half}` })] },
  ];
  const sent = contentsOf(messages, { model: MODEL, redact: undefined });
  expect(JSON.stringify(sent)).not.toMatch(/\\ud83d/);
  expect(sent.system).toEqual(["a\ufffd"]);
  expect(sent.contents[0]!.parts).toEqual([{ text: "b\ufffd \u{1f44d}" }]);
  expect(sent.contents[1]!.parts![0]!.functionCall!.args).toEqual({ "k\ufffd": ["v\ufffd"] });
});
