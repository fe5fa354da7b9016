import type { UIMessage } from "ai";
import fc from "fast-check";
import { z } from "zod";
import { base64, json, jsonObject, listOf, one, problemsBy, shape, words } from "./adapter-arbitraries.ts";

const provider = { providerMetadata: fc.record({ anthropic: jsonObject }) };
const text = shape({ type: one("text"), text: words }, { ...provider, state: one("done") });
const reasoning = shape({ type: one("reasoning"), text: fc.oneof(words, fc.constant("")) }, { ...provider, id: words });
const url = fc.oneof(
  base64.map((data) => `data:image/png;base64,${data}`),
  one("https://example.com/a", "data:,x"),
);
const file = shape(
  { type: one("file"), mediaType: one("image/png", "image/webp"), url },
  { ...provider, filename: words },
);
const source = shape({ type: one("source-url"), sourceId: words, url });
const widget = shape({ type: one("data-weather"), data: json }, { id: words });
const outcome = fc.oneof(
  shape(
    { state: one("output-available"), output: json },
    { resultProviderMetadata: jsonObject, preliminary: fc.boolean() },
  ),
  shape({ state: one("output-error"), errorText: words }, { rawInput: json }),
);
const tool = fc.oneof(
  shape({ type: one("tool-run", "tool-read_file"), input: json }, { title: words, callProviderMetadata: jsonObject }),
  shape({ type: one("dynamic-tool"), toolName: words, input: json }),
);
const step = fc.record({
  isMarked: fc.boolean(),
  before: listOf(text, reasoning, source, widget),
  tools: fc.array(fc.tuple(tool, outcome), { maxLength: 3 }),
});

/** Chats as a page has them, every call with its result. */
export const uiChats: fc.Arbitrary<UIMessage[]> = fc
  .tuple(
    fc.array(text, { maxLength: 1 }),
    fc.array(
      fc.record({
        asked: listOf(text, file, widget),
        about: shape({}, { metadata: jsonObject }),
        steps: fc.array(step, { minLength: 1, maxLength: 3 }),
        answer: text,
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([systems, turns]) => {
    const messages: object[] = systems.map((part) => ({ id: "s", role: "system", parts: [part] }));
    let calls = 0;
    turns.forEach(({ asked, about, steps, answer }, index) => {
      messages.push({ id: `u${index}`, role: "user", parts: [...asked, { type: "text", text: "Well?" }] });
      const parts = steps.flatMap(({ isMarked, before, tools }, place) => [
        ...(isMarked || place > 0 ? [{ type: "step-start" }] : []),
        ...before,
        { type: "text", text: "Hm." },
        ...tools.map(([call, outcome]) => ({ ...call, ...outcome, toolCallId: `call_${calls++}` })),
      ]);
      messages.push({
        ...about,
        id: `a${index}`,
        role: "assistant",
        parts: [...parts, { type: "step-start" }, answer],
      });
    });
    return messages as UIMessage[];
  });

const name = z.string().min(1);
const Part = z.union([
  z.strictObject({ type: z.enum(["text", "reasoning"]), text: z.string() }),
  z.strictObject({ type: z.literal("step-start") }),
  z.strictObject({ type: z.literal("file"), mediaType: name, url: z.string(), filename: z.string().optional() }),
  z.strictObject({
    type: z.string().startsWith("tool-"),
    toolCallId: name,
    state: z.literal("input-available"),
    input: z.json(),
  }),
  z.strictObject({
    type: z.string().startsWith("tool-"),
    toolCallId: name,
    state: z.literal("output-available"),
    input: z.json(),
    output: z.json(),
  }),
  z.strictObject({
    type: z.string().startsWith("tool-"),
    toolCallId: name,
    state: z.literal("output-error"),
    input: z.json(),
    errorText: z.string(),
  }),
]);
const Chat = z.array(
  z.strictObject({ id: name, role: z.enum(["system", "user", "assistant"]), parts: z.array(Part).min(1) }),
);

/** Held against the parts that the SDK has types for. */
export const uiProblems = problemsBy(Chat);
