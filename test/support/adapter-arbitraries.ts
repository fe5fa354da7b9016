import fc from "fast-check";
import type { z } from "zod";
import type { JsonValue, MessageInput, PartInput } from "../../src/index.ts";
import { nastyJson } from "./message-arbitraries.ts";

/** Words, and what looks like something else. Never blank: providers refuse that. */
export const words: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("ok", "null", "[]", '{"a":1}', "a\0b", "🎉👨‍👩‍👧‍👦", "a\u2028b", " indented", "<message>", "data:,x"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((text) => /\S/.test(text)),
);

export const json: fc.Arbitrary<JsonValue> = nastyJson.filter((value) => JSON.stringify(value).length < 2_000);

/** An object with any members. */
export const jsonObject: fc.Arbitrary<Record<string, JsonValue>> = fc
  .array(fc.tuple(fc.oneof(words, fc.constantFrom("__proto__", "output", "error", "type", "text")), json), {
    maxLength: 3,
  })
  .map((entries) => Object.fromEntries(entries));

export const base64: fc.Arbitrary<string> = fc.base64String({ minLength: 4, maxLength: 24 });

export const one = <T extends string>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

export const listOf = (...parts: fc.Arbitrary<object>[]): fc.Arbitrary<object[]> =>
  fc.array(fc.oneof(...parts), { minLength: 1, maxLength: 3 });

/** Tells what is wrong with a value by a schema of zod's: a line for each issue. */
export function problemsBy(schema: z.ZodType): (value: unknown) => string[] {
  return (value) => {
    const issues = schema.safeParse(value).error?.issues ?? [];
    return issues.map((issue) => `${issue.path.join(".")}: ${JSON.stringify(issue)}`);
  };
}

/** Fields that we have never heard of, on top of those given. */
export function withUnknown<T extends object>(known: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const entry = fc.tuple(fc.constantFrom("x_new", "x_other", "traceId"), json);
  const unknown = fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(entry, { maxLength: 2 }));
  return fc.tuple(known, unknown).map(([value, entries]) => ({ ...value, ...Object.fromEntries(entries) }));
}

/** A record whose keys after `|` may be missing. */
export function shape<T>(required: { [K in keyof T]: fc.Arbitrary<T[K]> }, optional: Record<string, unknown> = {}) {
  const model = { ...required, ...optional } as Record<string, fc.Arbitrary<unknown>>;
  return withUnknown(fc.record(model, { requiredKeys: Object.keys(required) }) as fc.Arbitrary<object>);
}

/** What a provider carries of ours, so that it comes back equal. */
export interface Carried {
  /** Of a user's message, but for text. */
  userPart: fc.Arbitrary<PartInput>;
  /** Before an assistant's texts. */
  thought?: fc.Arbitrary<PartInput>;
  args: fc.Arbitrary<unknown>;
  /** `content`, and `isError` where it is carried. */
  result: fc.Arbitrary<{ content: unknown; isError?: boolean }>;
  /** Whether each result is a message of its own, or all of a step are one. */
  resultsApart: boolean;
  /** Whether a name of the tool comes back in its results. */
  resultNames: boolean;
  systemTexts: 1 | 2;
}

/**
 * Conversations of ours that begin with the user and in which speakers take turns: what the system says, questions,
 * answers, and steps with up to three calls at once. Ids are unique, as rendered contexts have them.
 */
export function conversations(carried: Carried): fc.Arbitrary<MessageInput[]> {
  const text = fc.record({ type: fc.constant("text" as const), text: words });
  const call = fc.record({
    name: fc.constantFrom("run", "read_file", "search"),
    args: carried.args,
    result: carried.result,
  });
  const step = fc.record({
    thought: carried.thought === undefined ? fc.constant([]) : fc.array(carried.thought, { maxLength: 1 }),
    texts: fc.array(text, { maxLength: 2 }),
    calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  });
  const turn = fc.record({
    asked: fc.array(fc.oneof(text, carried.userPart), { minLength: 1, maxLength: 3 }),
    steps: fc.array(step, { maxLength: 3 }),
    answer: fc.array(text, { minLength: 1, maxLength: 2 }),
  });
  const system = fc.array(text, { minLength: 1, maxLength: carried.systemTexts });
  return fc
    .tuple(fc.array(system, { maxLength: 1 }), fc.array(turn, { minLength: 1, maxLength: 3 }))
    .map(([systems, turns]) => {
      const messages: MessageInput[] = systems.map((parts) => ({ role: "system", parts }));
      let calls = 0;
      for (const { asked, steps, answer } of turns) {
        messages.push({ role: "user", parts: asked });
        for (const { thought, texts, calls: called } of steps) {
          const asks: PartInput[] = [];
          const results: PartInput[] = [];
          for (const { name, args, result } of called) {
            const toolCallId = `call_${calls++}`;
            asks.push({ type: "tool_call", toolCallId, name, args });
            results.push({ type: "tool_result", toolCallId, ...(carried.resultNames && { name }), ...result });
          }
          messages.push({ role: "assistant", parts: [...thought, ...texts, ...asks] });
          if (carried.resultsApart) messages.push(...results.map((part) => ({ role: "tool" as const, parts: [part] })));
          else messages.push({ role: "tool", parts: results });
        }
        messages.push({ role: "assistant", parts: answer });
      }
      return messages;
    });
}
