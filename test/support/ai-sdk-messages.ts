import { type ModelMessage, modelMessageSchema } from "ai";
import fc from "fast-check";
import { base64, json, jsonObject, listOf, one, problemsBy, shape, withUnknown, words } from "./adapter-arbitraries.ts";

const options = { providerOptions: fc.record({ anthropic: jsonObject }) };
const text = shape({ type: one("text"), text: words }, options);
const place = fc.oneof(base64, one("https://example.com/a", "data:image/png;base64,QUJD", "data:,x"));
const image = shape({ type: one("image"), image: place }, { ...options, mediaType: one("image/png") });
const file = shape(
  { type: one("file"), data: place, mediaType: one("application/pdf", "image/png") },
  { ...options, filename: words },
);
const reasoning = shape({ type: one("reasoning"), text: fc.oneof(words, fc.constant("")) }, options);
const served = fc.constant([
  { type: "tool-call", toolCallId: "srv", toolName: "search", input: {}, providerExecuted: true },
  { type: "tool-result", toolCallId: "srv", toolName: "search", output: { type: "json", value: [] } },
]);
const approval = fc.constant({ type: "tool-approval-request", approvalId: "a1", toolCallId: "c0" });

const url = fc.constant("https://example.com/a");
const item = fc.oneof(
  shape({ type: one("text"), text: words }, options),
  shape(
    { type: one("media", "image-data", "file-data"), data: base64, mediaType: one("image/png", "audio/wav") },
    options,
  ),
  shape({ type: one("file-data"), data: base64, mediaType: one("application/pdf"), filename: words }),
  shape({ type: one("file-url"), url }, { mediaType: one("application/pdf") }),
  shape({ type: one("image-url"), url }, options),
  shape({ type: one("file-id"), fileId: words }),
  shape({ type: one("custom") }, options),
);
const output = fc.oneof(
  shape({ type: one("text", "error-text"), value: words }, options),
  shape({ type: one("json", "error-json"), value: json }, options),
  shape({ type: one("execution-denied") }, { ...options, reason: words }),
  shape({ type: one("content"), value: fc.array(item, { maxLength: 3 }) }, options),
);
const call = shape({ type: one("tool-call"), toolName: one("run", "read_file"), input: json }, options);
const step = fc.record({
  before: fc.array(fc.oneof(text, reasoning, file, approval), { maxLength: 3 }),
  served: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, served),
  calls: fc.array(fc.record({ call, result: shape({ type: one("tool-result"), output }, options) }), {
    minLength: 1,
    maxLength: 3,
  }),
});
const said = fc.oneof(words, listOf(text, image, file));
const answer = fc.oneof(
  words,
  fc.array(reasoning, { maxLength: 1 }).chain((thoughts) => text.map((part) => [...thoughts, part])),
);

/** Conversations as the SDK has them: every call has its answer, and an id of its own. */
export const aiSdkConversations: fc.Arbitrary<ModelMessage[]> = fc
  .tuple(
    fc.array(shape({ role: one("system"), content: words }, options), { maxLength: 2 }),
    fc.array(
      fc.record({
        asked: said,
        more: fc.array(said, { maxLength: 1 }),
        steps: fc.array(step, { maxLength: 2 }),
        answer,
      }),
      { minLength: 1, maxLength: 3 },
    ),
    withUnknown(fc.record(options, { requiredKeys: [] })),
  )
  .map(([systems, turns, unknown]) => {
    const messages: object[] = [...systems];
    let calls = 0;
    for (const { asked, more, steps, answer } of turns) {
      messages.push({ ...unknown, role: "user", content: asked });
      messages.push(...more.map((content) => ({ role: "user", content })));
      for (const { before, served, calls: called } of steps) {
        const ids = called.map(() => `call_${calls++}`);
        const asks = called.map(({ call }, index) => ({ ...call, toolCallId: ids[index] }));
        const results = called.map(({ call, result }, index) => {
          return { ...result, toolCallId: ids[index], toolName: (call as { toolName: string }).toolName };
        });
        messages.push(
          { role: "assistant", content: [...before, ...served, ...asks] },
          { role: "tool", content: results },
        );
      }
      messages.push({ role: "assistant", content: answer });
    }
    return messages as ModelMessage[];
  });

/** By the SDK's own check. */
export const aiSdkProblems = problemsBy(modelMessageSchema.array());
