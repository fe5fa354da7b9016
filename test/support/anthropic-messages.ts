import fc from "fast-check";
import { z } from "zod";
import type { AnthropicConversation } from "../../src/adapters/anthropic.ts";
import { base64, json, jsonObject, listOf, one, problemsBy, shape, withUnknown, words } from "./adapter-arbitraries.ts";

const cache = { cache_control: fc.constantFrom({ type: "ephemeral" }, { type: "ephemeral", ttl: "1h" }) };
const text = shape({ type: one("text"), text: words }, { ...cache, citations: fc.constantFrom(null, []) });
const url = fc.constant("https://example.com/a");
const bytes = (...types: string[]) => shape({ type: one("base64"), media_type: one(...types), data: base64 });
const image = shape(
  { type: one("image"), source: fc.oneof(bytes("image/png", "image/jpeg"), shape({ type: one("url"), url })) },
  cache,
);
const document = shape(
  {
    type: one("document"),
    source: fc.oneof(
      bytes("application/pdf"),
      shape({ type: one("url"), url }),
      shape({ type: one("text"), media_type: one("text/plain"), data: words }),
      shape({ type: one("file"), file_id: words }),
    ),
  },
  { ...cache, title: fc.oneof(words, fc.constantFrom(null, "")), citations: fc.constant({ enabled: true }) },
);
const found = shape({ type: one("search_result"), source: words, title: words, content: fc.constant([]) });

const said = fc.oneof(words, listOf(text, image, document));
const thought = fc.oneof(
  shape({ type: one("thinking"), thinking: fc.oneof(words, fc.constant("")), signature: base64 }),
  shape({ type: one("redacted_thinking"), data: base64 }),
);
const served = shape({
  type: one("server_tool_use"),
  id: one("srvtoolu_1"),
  name: one("web_search"),
  input: jsonObject,
});
const call = shape(
  { type: one("tool_use"), name: one("run", "read_file"), input: jsonObject },
  { ...cache, caller: json },
);
const result = shape(
  { type: one("tool_result") },
  { ...cache, content: fc.oneof(words, listOf(text, image, document, found)), is_error: fc.boolean() },
);
const step = fc.record({
  before: fc.array(fc.oneof(thought, text, served), { maxLength: 3 }),
  calls: fc.array(fc.record({ call, result }), { minLength: 1, maxLength: 3 }),
  /** Said in the message of the results. */
  after: fc.array(text, { maxLength: 2 }),
});
const answer = fc.oneof(
  words,
  listOf(text, thought).filter((blocks) => blocks.some((block) => "text" in block)),
);

/** Conversations as the service has them: every call has its answer, and an id of its own. */
export const anthropicConversations: fc.Arbitrary<AnthropicConversation> = fc
  .tuple(
    fc.oneof(fc.constant({}), fc.record({ system: fc.oneof(words, listOf(text)) })),
    fc.array(
      fc.record({
        asked: said,
        more: fc.array(said, { maxLength: 1 }),
        steps: fc.array(step, { maxLength: 2 }),
        answer,
      }),
      { minLength: 1, maxLength: 3 },
    ),
    withUnknown(fc.constant({})),
  )
  .map(([system, turns, unknown]) => {
    const messages: object[] = [];
    let calls = 0;
    for (const { asked, more, steps, answer } of turns) {
      messages.push({ ...unknown, role: "user", content: asked });
      messages.push(...more.map((content) => ({ role: "user", content })));
      for (const { before, calls: called, after } of steps) {
        const ids = called.map(() => `toolu_${calls++}`);
        const uses = called.map(({ call }, index) => ({ ...call, id: ids[index] }));
        const results = called.map(({ result }, index) => ({ ...result, tool_use_id: ids[index] }));
        messages.push(
          { role: "assistant", content: [...before, ...uses] },
          { role: "user", content: [...results, ...after] },
        );
      }
      messages.push({ role: "assistant", content: answer });
    }
    return { ...system, messages } as AnthropicConversation;
  });

const Id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const Text = z.strictObject({ type: z.literal("text"), text: z.string().regex(/\S/) });
const Image = z.strictObject({
  type: z.literal("image"),
  source: z.union([
    z.strictObject({
      type: z.literal("base64"),
      media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
      data: z.string(),
    }),
    z.strictObject({ type: z.literal("url"), url: z.string() }),
  ]),
});
const Document = z.strictObject({
  type: z.literal("document"),
  source: z.union([
    z.strictObject({ type: z.literal("base64"), media_type: z.literal("application/pdf"), data: z.string() }),
    z.strictObject({ type: z.literal("url"), url: z.string() }),
  ]),
  title: z.string().min(1).optional(),
});
const Result = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: Id,
  content: z.union([z.string(), z.array(z.union([Text, Image, Document]))]),
  is_error: z.boolean().optional(),
});
const Thinking = z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) });
const Call = z.strictObject({
  type: z.literal("tool_use"),
  id: Id,
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  input: z.record(z.string(), z.unknown()),
});
const content = (...blocks: z.ZodType[]) => z.union([z.string().regex(/\S/), z.array(z.union(blocks)).min(1)]);

/** A conversation as the service takes it, and nothing beside: it answers unknown fields with an error. */
const Conversation = z.strictObject({
  system: z.union([z.string(), z.array(Text)]).optional(),
  messages: z.array(
    z.discriminatedUnion("role", [
      z.strictObject({ role: z.literal("user"), content: content(Text, Image, Document, Result) }),
      z.strictObject({ role: z.literal("assistant"), content: content(Text, Thinking, Call) }),
    ]),
  ),
});

export const anthropicProblems = problemsBy(Conversation);
