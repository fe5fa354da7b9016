import fc from "fast-check";
import { z } from "zod";
import type { OpenaiMessage } from "../../src/adapters/openai.ts";
import { base64, json, jsonObject, one, problemsBy, shape, withUnknown, words } from "./adapter-arbitraries.ts";

const text = shape({ type: one("text"), text: words }, { prompt_cache_breakpoint: fc.constant({ mode: "explicit" }) });
const image = shape({
  type: one("image_url"),
  image_url: shape(
    {
      url: fc.oneof(
        base64.map((data) => `data:image/png;base64,${data}`),
        fc.constant("https://example.com/a.png"),
        fc.constant("data:,x"),
      ),
    },
    { detail: one("low", "high") },
  ),
});
const audio = shape({ type: one("input_audio"), input_audio: shape({ data: base64, format: one("wav", "mp3") }) });
const file = shape({
  type: one("file"),
  file: fc.oneof(
    shape({ file_data: base64.map((data) => `data:application/pdf;base64,${data}`), filename: words }),
    shape({ file_data: base64.map((data) => `data:image/png;base64,${data}`) }),
    shape({ file_id: words }),
  ),
});
const strange = shape({ type: one("video_url"), video_url: json });

const content = (...blocks: fc.Arbitrary<object>[]) =>
  fc.oneof(words, fc.array(fc.oneof(...blocks), { minLength: 1, maxLength: 3 }));
const system = shape({ role: one("system", "developer"), content: content(text) }, { name: one("ops", "a.b") });
const user = shape(
  { role: one("user"), content: content(text, image, audio, file, strange) },
  { name: one("Anna", "日本") },
);

const args = fc.oneof(
  jsonObject.map((value) => JSON.stringify(value)),
  jsonObject.map((value) => JSON.stringify(value, null, 1)),
  fc.constantFrom("", "{", "null", '"x"', "-0", "12345678901234567890", '{"a":1.0}'),
);
const called = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: one("function"),
      function: shape({ name: one("run", "read_file"), arguments: args }),
    }),
  },
  fc.record({ type: one("custom"), custom: shape({ name: one("patch"), input: words }) }),
  fc.record({ function: shape({ name: one("run"), arguments: args }) }),
);
const call = withUnknown(called);
const refusal = shape({ type: one("refusal"), refusal: words });
const assistantFields = {
  refusal: fc.constantFrom(null, "I cannot help with that."),
  annotations: fc.array(json, { maxLength: 1 }),
  audio: fc.constantFrom(null, { id: "audio_1" }),
  reasoning_content: words,
  reasoning: words,
  reasoning_details: fc.array(json, { maxLength: 1 }),
  name: one("helper"),
};
const answer = shape({ role: one("assistant"), content: content(text, refusal) }, assistantFields);
const step = fc
  .record({
    said: shape(
      { role: one("assistant") },
      { content: fc.oneof(fc.constant(null), content(text)), ...assistantFields },
    ),
    calls: fc.array(fc.record({ call, result: shape({ content: content(text) }) }), { minLength: 1, maxLength: 3 }),
  })
  .map(({ said, calls }) => ({ said, calls }));

/** Conversations as the service has them: every call has its answer, and an id of its own. */
export const openaiConversations: fc.Arbitrary<OpenaiMessage[]> = fc
  .tuple(
    fc.array(system, { maxLength: 2 }),
    fc.array(fc.record({ user, steps: fc.array(step, { maxLength: 2 }), answer }), { minLength: 1, maxLength: 3 }),
  )
  .map(([systems, turns]) => {
    const messages: object[] = [...systems];
    let calls = 0;
    for (const { user, steps, answer } of turns) {
      messages.push(user);
      for (const { said, calls: called } of steps) {
        const ids = called.map(() => `call_${calls++}`);
        messages.push({ ...said, tool_calls: called.map(({ call }, index) => ({ ...call, id: ids[index] })) });
        called.forEach(({ result }, index) => {
          messages.push({ ...result, role: "tool", tool_call_id: ids[index] });
        });
      }
      messages.push(answer);
    }
    return messages as OpenaiMessage[];
  });

const Text = z.strictObject({ type: z.literal("text"), text: z.string() });
const Name = z
  .string()
  .regex(/^[^\s<|\\/>]{1,64}$/)
  .optional();
const Image = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string().min(1), detail: z.enum(["low", "high", "auto"]).optional() }),
});
const Audio = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({ data: z.string(), format: z.enum(["wav", "mp3"]) }),
});
const File = z.strictObject({
  type: z.literal("file"),
  file: z.strictObject({ filename: z.string().optional(), file_data: z.string().startsWith("data:") }),
});
const Call = z.strictObject({
  id: z.string().min(1).max(40),
  type: z.literal("function"),
  function: z.strictObject({ name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/), arguments: z.string() }),
});
const texts = z.union([z.string(), z.array(Text)]);

/** Messages as the service takes them, and nothing beside: it answers unknown fields with an error. */
const Messages = z.array(
  z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("system"), content: texts, name: Name }),
    z.strictObject({
      role: z.literal("user"),
      content: z.union([z.string(), z.array(z.union([Text, Image, Audio, File]))]),
      name: Name,
    }),
    z.strictObject({
      role: z.literal("assistant"),
      content: texts.nullable(),
      tool_calls: z.array(Call).min(1).optional(),
      name: Name,
    }),
    z.strictObject({ role: z.literal("tool"), tool_call_id: z.string().min(1).max(40), content: texts }),
  ]),
);

export const openaiProblems = problemsBy(Messages);
