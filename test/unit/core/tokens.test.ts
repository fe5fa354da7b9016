import { describe, expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { messageTokens, partsTokens, type TokenCounter } from "../../../src/core/tokens.ts";

/** One token a character, so that every count below can be done by hand. */
const characters: TokenCounter = { name: "characters", count: (text) => text.length };

describe("partsTokens", () => {
  test.each<[string, Part[], number]>([
    ["nothing but its wrapping", [], 4],
    ["text", [{ type: "text", text: "abc" }], 4 + 3],
    ["reasoning, which is sent back to the model", [{ type: "reasoning", text: "hm" }], 4 + 2],
    // `c1 ls {"a":1}`
    [
      "a call with its id, name and arguments",
      [{ type: "tool_call", toolCallId: "c1", name: "ls", args: { a: 1 } }],
      4 + 13,
    ],
    ["a result with its id", [{ type: "tool_result", toolCallId: "c1", content: "ok" }], 4 + 2 + 2],
    [
      "a result in parts",
      [
        {
          type: "tool_result",
          toolCallId: "c1",
          content: [
            { type: "text", text: "ok" },
            { type: "text", text: "!" },
          ],
        },
      ],
      4 + 2 + 2 + 1,
    ],
    // `image/png (3 bytes)`
    ["a file's bytes by a flat rate", [{ type: "file", mediaType: "image/png", data: "AAAA" }], 4 + 19 + 1_000],
    ["a file that is only named", [{ type: "file", mediaType: "image/png" }], 4 + 9],
    ["data as JSON", [{ type: "data", data: [1, 2] }], 4 + 5],
  ])("counts %s", (_, parts, expected) => {
    expect(partsTokens(parts, characters)).toBe(expected);
  });
});

test("a message costs its parts and its name", () => {
  const parts: Part[] = [{ type: "text", text: "abc" }];
  expect(messageTokens({ parts }, characters)).toBe(4 + 3);
  expect(messageTokens({ name: "bob", parts }, characters)).toBe(4 + 3 + 3);
});
