import fc from "fast-check";
import type { JsonValue, MessageInput, PartInput } from "../../src/index.ts";

/** Strings that have broken stores before, among ordinary ones. */
export const nastyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "",
    "ok",
    "a\0b",
    "\ud800",
    "x\udc00y",
    "\ufeffstart",
    "🎉👨‍👩‍👧‍👦",
    "'; DROP TABLE messages; --",
    "\u2028\u2029",
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.constantFrom("artifact:sha256:", `artifact:sha256:${"0".repeat(64)} (16384 bytes)`),
  // Long enough to be kept apart, with and without half a surrogate pair.
  fc.tuple(fc.constantFrom("long ", "🎉", "\ud800", "é"), fc.constantFrom(0, 1, 2)).map(([unit, extra]) => {
    return unit.repeat(Math.ceil(16_384 / unit.length)) + "!".repeat(extra);
  }),
);

const key = fc.oneof(fc.constantFrom("__proto__", "constructor", "toString", "a/b", "~1", "", "0", "type2"), nastyText);

/** Anything that JSON can say but -0, which comes back as the 0 it is equal to. */
export const nastyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    nastyText,
    fc.constantFrom<JsonValue>(null, true, false, 0, 1e308, -1.5, 9007199254740992),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

/** Fields of a provider's own, under names that no part of ours has. */
const unknownFields = fc
  .array(fc.tuple(fc.constantFrom("__proto__", "signature", "cache_control", "x/y~z"), nastyJson), { maxLength: 2 })
  .map((entries) => Object.fromEntries(entries));

/** Built so that a key `__proto__` stays a key. */
function withFields<T extends object>(known: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc
    .tuple(known, unknownFields)
    .map(([part, extra]) => Object.fromEntries([...Object.entries(part), ...Object.entries(extra)]) as T);
}

const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T> => value;
const callId = fc.constantFrom("call_0", "call_1", "call_2");

const textPart = withFields(fc.record({ type: fc.constant("text" as const), text: nastyText }));
const reasoningPart = withFields(fc.record({ type: fc.constant("reasoning" as const), text: nastyText }));
const filePart = withFields(
  fc.record(
    {
      type: fc.constant("file" as const),
      mediaType: fc.constantFrom("image/png", "text/plain"),
      name: optional(nastyText),
      data: optional(nastyText),
      url: optional(nastyText),
    },
    { requiredKeys: ["type", "mediaType"] },
  ),
);
const dataPart = withFields(fc.record({ type: fc.constant("data" as const), data: nastyJson }));
const callPart = withFields(
  fc.record({
    type: fc.constant("tool_call" as const),
    toolCallId: callId,
    name: fc.constantFrom("run", "读"),
    args: nastyJson,
  }),
);
const resultPart = withFields(
  fc.record(
    {
      type: fc.constant("tool_result" as const),
      toolCallId: callId,
      name: nastyText,
      content: fc.oneof(nastyText, fc.array(fc.oneof(textPart, filePart, dataPart), { maxLength: 3 })),
      isError: fc.boolean(),
    },
    { requiredKeys: ["type", "toolCallId", "content"] },
  ),
);

const parts = (...kinds: fc.Arbitrary<unknown>[]): fc.Arbitrary<PartInput[]> =>
  fc.array(fc.oneof(...kinds), { maxLength: 4 }) as fc.Arbitrary<PartInput[]>;

const PARTS_BY_ROLE = {
  system: parts(textPart, filePart, dataPart),
  user: parts(textPart, filePart, dataPart),
  assistant: parts(textPart, reasoningPart, callPart, filePart, dataPart),
  tool: parts(resultPart),
};

/** A message of any role that the store takes, with nothing spared. */
export const nastyMessage: fc.Arbitrary<MessageInput> = fc
  .constantFrom("user" as const, "assistant" as const, "assistant" as const, "tool" as const, "system" as const)
  .chain((role) =>
    fc.record(
      {
        role: fc.constant(role),
        parts: PARTS_BY_ROLE[role],
        name: nastyText.filter((name) => name.isWellFormed() && name.length <= 512),
        createdAt: fc.integer(),
        metadata: fc
          .array(fc.tuple(key, nastyJson), { minLength: 1, maxLength: 3 })
          .map((entries) => Object.fromEntries(entries)),
      },
      { requiredKeys: ["role", "parts"] },
    ),
  );

/** Enough words of each subject to tell them apart. */
export const SUBJECTS = [
  "deploy pipeline region lock bucket rollout cluster",
  "parser template brace token grammar syntax",
  "invoice currency billing customer refund tax",
  "thumbnail photograph resize queue image pixel",
];

/** A few words about one of the subjects. */
export const subjectText = fc
  .tuple(fc.nat(SUBJECTS.length - 1), fc.array(fc.nat(6), { minLength: 2, maxLength: 12 }))
  .map(([subject, picks]) => picks.map((pick) => SUBJECTS[subject]!.split(" ")[pick % 6]).join(" "));

/** Ids that come again, as many providers give them. */
export const repeatedIds = fc.subarray(["call_0", "call_1", "call_2"], { minLength: 1 });
