import fc from "fast-check";
import { expect, test } from "vitest";
import { fromLlxprt, type LlxprtContent, type LlxprtConversation, toLlxprt } from "../../src/adapters/llxprt.ts";
import { base64, conversations, json, words } from "../support/adapter-arbitraries.ts";
import { llxprtConversations, llxprtProblems } from "../support/llxprt-contents.ts";
import { describeAdapter } from "./adapter.contract.ts";

const file = fc.oneof(
  fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64, name: words }),
  fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("video/mp4"), url: words }),
);
const returned = fc.record({
  type: fc.constant("data" as const),
  data: json.filter((value) => typeof value !== "string"),
});
const said = (contents: unknown[]) => ({ contents }) as LlxprtConversation;
const response = { type: "tool_response", callId: "a", toolName: "f" };

describeAdapter<LlxprtConversation>({
  name: "llxprt-code",
  to: toLlxprt,
  from: fromLlxprt,
  theirs: llxprtConversations,
  oddities: [
    said([]),
    said([
      { speaker: "human", blocks: [] },
      { speaker: "tool", blocks: [] },
      { speaker: "ai", blocks: [] },
    ]),
    said([{ speaker: "human", blocks: ["x", null, { type: "text" }, { type: "media", data: "x" }, { type: "new" }] }]),
    said([{ speaker: "ai", blocks: [{ type: "tool_call", id: "a", name: "f" }, { type: "tool_call" }, response] }]),
    said([
      { speaker: "tool", blocks: [{ ...response, error: "x" }, { ...response, result: null, error: "x" }, response] },
    ]),
    said([
      {
        speaker: "tool",
        blocks: [
          { ...response, result: { a: 1 }, error: "x" },
          { ...response, result: "", error: null },
        ],
      },
    ]),
    said([
      {
        speaker: "tool",
        blocks: [
          { type: "text", text: "x" },
          { type: "tool_response", callId: "a", result: null },
        ],
      },
    ]),
    said([
      {
        speaker: "human",
        blocks: [
          { ...response, result: "x" },
          { type: "text", text: "y" },
        ],
      },
    ]),
  ],
  refused: [
    [
      said([
        { speaker: "human", blocks: [] },
        { speaker: "system", blocks: [] },
      ]),
      "contents[1].speaker",
    ],
    [
      said([
        { speaker: "human", blocks: [] },
        { speaker: "ai", blocks: "x" },
      ]),
      "contents[1].blocks",
    ],
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
    systemTexts: 1,
  }),
  listOf: ({ contents }) => contents,
  problemsOf: llxprtProblems,
});

test("a content is a message of its time, and its metadata come back with it", () => {
  const content = {
    speaker: "ai",
    blocks: [
      { type: "thinking", thought: "Hm.", sourceField: "thinking", signature: "c2ln" },
      { type: "tool_call", id: "hist_tool_1", name: "read_file", parameters: { path: "ci.yml" } },
    ],
    metadata: { timestamp: 1_700_000_000_000, model: "m", usage: { promptTokens: 7 } },
  } satisfies LlxprtContent;
  const [message] = fromLlxprt(content);
  expect(message).toEqual({
    role: "assistant",
    createdAt: 1_700_000_000_000,
    parts: [
      { type: "reasoning", text: "Hm.", llxprt: { sourceField: "thinking", signature: "c2ln" } },
      { type: "tool_call", toolCallId: "hist_tool_1", name: "read_file", args: { path: "ci.yml" } },
    ],
    metadata: { llxprt: { metadata: content.metadata } },
  });
  expect(toLlxprt([message!]).contents).toEqual([content]);
});

test("what failed without a result says so in the content", () => {
  const block = { type: "tool_response", callId: "a", toolName: "run", result: null, error: "Denied." } as const;
  const [message] = fromLlxprt({ speaker: "tool", blocks: [block] });
  expect(message!.parts).toMatchObject([{ type: "tool_result", content: "Denied.", isError: true }]);
  expect(toLlxprt([message!]).contents[0]!.blocks).toEqual([block]);
});
