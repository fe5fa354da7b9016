import { expect, test } from "vitest";
import { replyText } from "../../../../src/models/gemini/reply.ts";

const textOf = (candidate: unknown): string => replyText({ candidates: [candidate] }, "m");

test("is all of the parts, without thoughts and what is no text", () => {
  const parts = [
    { text: "I think", thought: true },
    { text: '{"a"' },
    { functionCall: { name: "recall" } },
    { text: ":1}" },
  ];
  expect(textOf({ content: { parts }, finishReason: "STOP" })).toBe('{"a":1}');
});

test("may leave out how it ended", () => {
  expect(textOf({ content: { parts: [{ text: "a" }] } })).toBe("a");
});

test.each(["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"])(
  "is refused where it ended by %s",
  (finishReason) => {
    expect(() => textOf({ content: { parts: [{ text: "a" }] }, finishReason })).toThrow(
      `m refused the request: the reply is blocked (${finishReason}).`,
    );
  },
);

test.each(["MAX_TOKENS", "OTHER", "MALFORMED_FUNCTION_CALL"])("is no answer where it ended by %s", (finishReason) => {
  expect(() => textOf({ content: { parts: [{ text: "a" }] }, finishReason })).toThrow(
    `The answer of m cannot be used: it is cut off (${finishReason}).`,
  );
});

test.each([
  [{ candidates: [null] }, "candidates.0: Invalid input: expected object, received null"],
  [
    { candidates: [{ content: { parts: [{ text: 5 }] } }] },
    "candidates.0.content.parts.0.text: Invalid input: expected string, received number",
  ],
  [{ promptFeedback: "x" }, "promptFeedback: Invalid input: expected object, received string"],
  [null, "it: Invalid input: expected object, received null"],
])("is no answer where it has another shape: %j", (response, reason) => {
  expect(() => replyText(response, "m")).toThrow(`The answer of m cannot be used: ${reason}.`);
});

test("may be null where it may be left out", () => {
  expect(
    replyText({ promptFeedback: { blockReason: null }, candidates: [{ content: { parts: [{ text: "a" }] } }] }, "m"),
  ).toBe("a");
  expect(() => replyText({ promptFeedback: null, candidates: null }, "m")).toThrow("it is empty");
});
