import type { Content } from "@google/genai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromGemini, type GeminiConversation, toGemini } from "../../src/adapters/gemini.ts";
import type { MessageInput, PartInput } from "../../src/index.ts";
import { base64, conversations, jsonObject, words } from "../support/adapter-arbitraries.ts";
import { geminiConversations, geminiProblems } from "../support/gemini-contents.ts";
import { describeAdapter } from "./adapter.contract.ts";

const text = fc.record({ type: fc.constant("text" as const), text: words });
const image = fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64 });
const link = fc.record({
  type: fc.constant("file" as const),
  mediaType: fc.constant("video/mp4"),
  url: fc.constant("https://example.com/a"),
});
/** What a function returns that is more than a text. */
const returned = jsonObject.map((value) => ({ type: "data" as const, data: { ...value, status: 0, code: 1 } }));
const said = (contents: unknown[]) => ({ contents }) as GeminiConversation;

describeAdapter<GeminiConversation>({
  name: "Gemini",
  to: (messages) => toGemini(messages),
  from: fromGemini,
  theirs: geminiConversations,
  oddities: [
    said([]),
    said([{ parts: [{ text: "x" }] }]),
    said([{ role: "user", parts: [] }, { role: "model" }]),
    said([
      { role: "model", parts: [{ functionCall: { name: "f" } }] },
      { role: "function", parts: [{ functionResponse: { name: "f" } }] },
    ]),
    said([{ role: "model", parts: [{ functionCall: {} }, { text: "a", inlineData: { data: "" } }, null, 7] }]),
    said([
      { role: "user", parts: [{ text: "x" }, { functionResponse: { name: "f", response: { error: { code: 1 } } } }] },
    ]),
    said([
      { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "x" }, parts: [{ new: 1 }] } }] },
    ]),
    said([
      { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: {} } }] },
    ]),
    said([{ role: "user", parts: [{ functionCall: { name: "f" } }, { inlineData: { data: "QUJD" } }] }]),
  ],
  refused: [
    [
      said([
        { role: "user", parts: [] },
        { role: "assistant", parts: [] },
      ]),
      "contents[1].role",
    ],
    [
      said([
        { role: "user", parts: [] },
        { role: "user", parts: "x" },
      ]),
      "contents[1].parts",
    ],
  ],
  ours: conversations({
    userPart: fc.oneof(image, link),
    thought: fc.record({
      type: fc.constant("reasoning" as const),
      text: words,
      gemini: fc.constant({ thought: true, coppice: { as: "thought" } }),
    }),
    args: jsonObject,
    result: fc.oneof(
      fc.record({ content: words }),
      fc.record({ content: words, isError: fc.constant(true) }),
      fc.record({ content: fc.tuple(returned), isError: fc.constant(true) }),
      fc.record({ content: fc.tuple(fc.oneof(text, returned), image) }),
      fc.record({ content: fc.tuple(returned) }),
      fc.record({ content: fc.tuple(image) }),
    ),
    resultsApart: false,
    resultNames: true,
    systemTexts: 1,
  }),
  rules: "gemini",
  listOf: ({ contents }) => contents,
  problemsOf: geminiProblems,
});

const asks = (...parts: PartInput[]): MessageInput => ({ role: "assistant", parts });
const answers = (toolCallId: string, content: string): MessageInput => {
  return { role: "tool", parts: [{ type: "tool_result", toolCallId, content }] };
};

describe("calls without ids", () => {
  const content = {
    role: "model",
    parts: [
      { functionCall: { name: "read_file", args: { path: "a" } }, thoughtSignature: "c2ln" },
      { functionCall: { name: "read_file", args: { path: "b" } } },
    ],
  } satisfies Content;

  test("get some, so that results can name them", () => {
    expect(fromGemini(content)[0]!.parts).toEqual([
      {
        type: "tool_call",
        toolCallId: "read_file_0",
        name: "read_file",
        args: { path: "a" },
        gemini: { thoughtSignature: "c2ln", coppice: { id: "absent" } },
      },
      {
        type: "tool_call",
        toolCallId: "read_file_1",
        name: "read_file",
        args: { path: "b" },
        gemini: { coppice: { id: "absent" } },
      },
    ]);
  });

  test("are answered in their order, whichever result came first", () => {
    const { contents } = toGemini([...fromGemini(content), answers("read_file_1", "B"), answers("read_file_0", "A")]);
    expect(contents).toEqual([
      content,
      {
        role: "user",
        parts: [
          { functionResponse: { name: "read_file", response: { output: "A" } } },
          { functionResponse: { name: "read_file", response: { output: "B" } } },
        ],
      },
    ] satisfies Content[]);
  });
});

test("files behind a response belong to it, and go back there, also where responses change places", () => {
  const image = (data: string) => ({ inlineData: { mimeType: "image/png", data } });
  const look = { functionCall: { name: "look" } };
  const [calls, answered] = fromGemini([
    { role: "model", parts: [look, look] },
    {
      role: "user",
      parts: [
        { functionResponse: { name: "look", response: { output: "a" } } },
        image("QQ=="),
        { functionResponse: { name: "look", response: { output: "b" } } },
        image("Qg=="),
      ],
    },
  ]);
  const [first, second] = answered!.parts;
  expect(first).toMatchObject({ toolCallId: "look_0", content: [{ text: "a" }, { type: "file", data: "QQ==" }] });
  const { contents } = toGemini([calls!, { role: "tool", parts: [second!, first!] }]);
  expect(contents[1]!.parts!.map((part) => part.inlineData?.data ?? part.functionResponse?.response?.output)).toEqual([
    "a",
    "QQ==",
    "b",
    "Qg==",
  ]);
});

test("neighbors of one role are one content, and results know the name of their function", () => {
  const { systemInstruction, contents } = toGemini([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Before." },
    { role: "user", content: "Read ci.yml." },
    asks({ type: "tool_call", toolCallId: "c1", name: "读", args: ["ci.yml"] }),
    answers("c1", "steps: []"),
    { role: "user", content: "And now?" },
  ]);
  expect(systemInstruction).toEqual({ parts: [{ text: "Be brief." }] });
  const name = expect.stringMatching(/^__[0-9a-f]{8}$/) as string;
  expect(contents).toEqual([
    { role: "user", parts: [{ text: "Before." }, { text: "Read ci.yml." }] },
    { role: "model", parts: [{ functionCall: { id: "c1", name, args: { input: ["ci.yml"] } } }] },
    { role: "user", parts: [{ functionResponse: { id: "c1", name, response: { output: "steps: []" } } }] },
    { role: "user", parts: [{ text: "And now?" }] },
  ] satisfies Content[]);
});

test("a signature is put where there is none, if one is given, on the first call", () => {
  const calls = asks(
    { type: "tool_call", toolCallId: "c1", name: "run", args: {} },
    { type: "tool_call", toolCallId: "c2", name: "run", args: {} },
  );
  const signed = asks({
    type: "tool_call",
    toolCallId: "c3",
    name: "run",
    args: {},
    gemini: { thoughtSignature: "c2ln" },
  });
  const { contents } = toGemini([calls, answers("c1", "x"), answers("c2", "x"), signed], { missingSignature: "skip" });
  expect(contents.map(({ parts }) => parts!.map(({ thoughtSignature }) => thoughtSignature))).toEqual([
    ["skip", undefined],
    [undefined, undefined],
    ["c2ln"],
  ]);
});

test("a response with an image and a text without words is the image alone, and goes back as it came", () => {
  const parts = [{ inlineData: { mimeType: "image/png", data: "aGk=" } }];
  const contents = [
    { role: "model", parts: [{ functionCall: { id: "c1", name: "f", args: {} } }] },
    { role: "user", parts: [{ functionResponse: { id: "c1", name: "f", response: { output: "" }, parts } }] },
  ];
  const [, answer] = fromGemini(contents as Content[]);
  expect(answer!.parts).toMatchObject([{ content: [{ type: "file", mediaType: "image/png" }] }]);
  expect(toGemini(fromGemini(contents as Content[])).contents).toEqual(contents);
});

test("thoughts of others are left out, and a message that is nothing else with them", () => {
  const thought = { type: "reasoning" as const, text: "Hm.", anthropic: { signature: "c2ln" } };
  expect(toGemini([asks(thought), asks(thought, { type: "text", text: "Yes." })]).contents).toEqual([
    { role: "model", parts: [{ text: "Yes." }] },
  ]);
});
