import fc from "fast-check";
import { z } from "zod";
import type { LlxprtConversation } from "../../src/adapters/llxprt.ts";
import { base64, json, jsonObject, listOf, one, problemsBy, shape, words } from "./adapter-arbitraries.ts";

const own = { providerMetadata: jsonObject };
const text = shape({ type: one("text"), text: words }, own);
const code = shape({ type: one("code"), code: words }, { language: one("ts") });
const media = fc.oneof(
  shape(
    { type: one("media"), mimeType: one("image/png"), data: base64, encoding: one("base64") },
    { filename: words, caption: words },
  ),
  shape({ type: one("media"), mimeType: one("video/mp4"), data: one("https://example.com/a"), encoding: one("url") }),
);
const thinking = shape(
  { type: one("thinking"), thought: fc.oneof(words, fc.constant("")) },
  {
    sourceField: one("thinking", "reasoning_content"),
    signature: base64,
    encryptedContent: base64,
    isHidden: fc.boolean(),
  },
);
const call = shape({ type: one("tool_call"), name: one("run", "read_file"), parameters: json }, { description: words });
const response = shape(
  { type: one("tool_response"), result: fc.oneof(words, json, fc.constant("")) },
  { error: words, isComplete: fc.boolean() },
);
const metadata = { metadata: shape({}, { timestamp: fc.nat(), model: words, usage: jsonObject }) };
const head = shape({}, metadata);
const step = fc.record({
  head,
  before: fc.array(fc.oneof(text, thinking, code), { maxLength: 2 }),
  calls: fc.array(fc.record({ call, response }), { minLength: 1, maxLength: 3 }),
  after: fc.array(media, { maxLength: 1 }),
});

/** Conversations as llxprt-code has them: every call has its answer, and an id of its own. */
export const llxprtConversations: fc.Arbitrary<LlxprtConversation> = fc
  .tuple(
    fc.oneof(fc.constant({}), fc.record({ systemInstruction: words })),
    fc.array(
      fc.record({
        head,
        asked: listOf(text, media, code),
        steps: fc.array(step, { maxLength: 2 }),
        answer: listOf(text, code, media),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([system, turns]) => {
    const contents: object[] = [];
    let calls = 0;
    for (const { head, asked, steps, answer } of turns) {
      contents.push({ ...head, speaker: "human", blocks: asked });
      for (const { head, before, calls: called, after } of steps) {
        const ids = called.map(() => `hist_tool_${calls++}`);
        const asks = called.map(({ call }, index) => ({ ...call, id: ids[index] }));
        const responses = called.map(({ call, response }, index) => {
          return { ...response, callId: ids[index], toolName: (call as { name: string }).name };
        });
        contents.push(
          { ...head, speaker: "ai", blocks: [...before, ...asks] },
          { speaker: "tool", blocks: [...responses, ...after] },
        );
      }
      contents.push({ speaker: "ai", blocks: answer });
    }
    return { ...system, contents } as LlxprtConversation;
  });

const name = z.string().min(1);
const Block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("thinking"), thought: z.string() }),
  z.strictObject({
    type: z.literal("media"),
    mimeType: name,
    data: z.string(),
    encoding: z.enum(["url", "base64"]),
    filename: z.string().optional(),
  }),
  z.strictObject({ type: z.literal("tool_call"), id: name, name, parameters: z.json() }),
  z.strictObject({
    type: z.literal("tool_response"),
    callId: name,
    toolName: name,
    result: z.json(),
    error: z.string().optional(),
  }),
]);
const Conversation = z.strictObject({
  systemInstruction: z.string().optional(),
  contents: z.array(z.strictObject({ speaker: z.enum(["human", "ai", "tool"]), blocks: z.array(Block).min(1) })),
});

/** Held against the fields that llxprt-code's interface has. */
export const llxprtProblems = problemsBy(Conversation);
