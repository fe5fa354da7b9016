import fc from "fast-check";
import { z } from "zod";
import type { GeminiConversation } from "../../src/adapters/gemini.ts";
import { base64, json, jsonObject, problemsBy, shape, withUnknown, words } from "./adapter-arbitraries.ts";

const signature = { thoughtSignature: base64 };
const text = shape({ text: words }, signature);
const url = fc.constant("https://example.com/a");
const file = fc.oneof(
  shape(
    {
      inlineData: shape({ mimeType: fc.constantFrom("image/png", "audio/wav"), data: base64 }, { displayName: words }),
    },
    { mediaResolution: json },
  ),
  shape({ fileData: shape({ fileUri: url }, { mimeType: fc.constant("video/mp4") }) }, { videoMetadata: json }),
);
const ran = fc.oneof(
  shape({ executableCode: fc.constant({ language: "PYTHON", code: "1" }) }),
  shape({ codeExecutionResult: fc.constant({ outcome: "OUTCOME_OK", output: "1" }) }),
);
const thought = fc.oneof(
  shape({ text: fc.oneof(words, fc.constant("")), thought: fc.constant(true) }, signature),
  shape({ text: fc.constant(""), thoughtSignature: base64 }),
);
const names = fc.constantFrom("run", "read_file");
const step = fc.record({
  hasIds: fc.boolean(),
  before: fc.array(fc.oneof(text, thought, ran), { maxLength: 2 }),
  calls: fc.array(
    fc.record({
      name: names,
      call: shape({}, { args: jsonObject }),
      response: fc.oneof(jsonObject, fc.record({ output: words }), fc.record({ error: words })),
      part: shape({}, signature),
      parts: fc.array(shape({ inlineData: shape({ mimeType: fc.constant("image/png"), data: base64 }) }), {
        maxLength: 1,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  after: fc.array(fc.oneof(text, file), { maxLength: 2 }),
});

/** Conversations as the service has them: every call has its response, with an id or without. */
export const geminiConversations: fc.Arbitrary<GeminiConversation> = fc
  .tuple(
    fc.oneof(
      fc.constant({}),
      fc.record({
        systemInstruction: shape(
          { parts: fc.array(text, { minLength: 1, maxLength: 2 }) },
          { role: fc.constant("user") },
        ),
      }),
    ),
    fc.array(
      fc.record({
        asked: fc.array(fc.oneof(text, file), { minLength: 1, maxLength: 3 }),
        more: fc.array(fc.array(text, { minLength: 1, maxLength: 2 }), { maxLength: 1 }),
        steps: fc.array(step, { maxLength: 2 }),
        answer: fc.array(fc.oneof(text, thought, file), { minLength: 1, maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    withUnknown(fc.constant({})),
  )
  .map(([system, turns, unknown]) => {
    const contents: object[] = [];
    let calls = 0;
    for (const { asked, more, steps, answer } of turns) {
      contents.push({ ...unknown, role: "user", parts: asked });
      contents.push(...more.map((parts) => ({ role: "user", parts })));
      for (const { hasIds, before, calls: called, after } of steps) {
        const ids = called.map(() => (hasIds ? { id: `c${calls++}` } : {}));
        const asks = called.map(({ name, call, part }, index) => ({
          ...part,
          functionCall: { ...ids[index], name, ...call },
        }));
        const responses = called.map(({ name, response, parts }, index) => ({
          functionResponse: { ...ids[index], name, response, ...(parts.length > 0 && { parts }) },
        }));
        contents.push(
          { role: "model", parts: [...before, ...asks] },
          { role: "user", parts: [...responses, ...after] },
        );
      }
      contents.push({ role: "model", parts: [...answer, { text: "Done." }] });
    }
    return { ...system, contents } as GeminiConversation;
  });

const Name = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
const Bytes = z.strictObject({ mimeType: z.string().min(1), data: z.string() });
const Text = z.strictObject({ text: z.string().regex(/\S/) });
const Inline = z.strictObject({ inlineData: Bytes });
const File = z.strictObject({ fileData: z.strictObject({ mimeType: z.string().optional(), fileUri: z.string() }) });
const object = z.record(z.string(), z.unknown());
const Call = z.strictObject({ functionCall: z.strictObject({ id: z.string().min(1), name: Name, args: object }) });
const Response = z.strictObject({
  functionResponse: z.strictObject({
    id: z.string(),
    name: Name,
    response: object,
    parts: z.array(Inline).min(1).optional(),
  }),
});

/** A conversation as the service takes it, and nothing beside: it answers unknown fields with an error. */
const Conversation = z.strictObject({
  systemInstruction: z.strictObject({ parts: z.array(Text) }).optional(),
  contents: z.array(
    z.discriminatedUnion("role", [
      z.strictObject({
        role: z.literal("user"),
        parts: z.union([z.array(Response).min(1), z.array(z.union([Text, Inline, File])).min(1)]),
      }),
      z.strictObject({ role: z.literal("model"), parts: z.array(z.union([Text, Inline, File, Call])).min(1) }),
    ]),
  ),
});

export const geminiProblems = problemsBy(Conversation);
