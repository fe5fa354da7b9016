import { expect, test } from "vitest";
import { groupSteps } from "../../../../src/context/layout/steps.ts";
import { shortenStep } from "../../../../src/context/tool-output/shorten-step.ts";
import type { Message, Part } from "../../../../src/core/message.ts";
import { call, messageOf, result } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";

function shortened(messages: Message[], tokensMax: number) {
  return shortenStep(groupSteps(messages)[0]!, tokensMax, quarterCounter);
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + message.tokenCount, 0);
}

const long = "abcd".repeat(1_000);

test("cuts what is long and leaves the rest", () => {
  const asks = messageOf(1, "assistant", [{ type: "text", text: "Both." }, call("c1", "a"), call("c2", "b")]);
  const brief = messageOf(2, "tool", [result("c1", "ok")], 1);
  const lengthy = messageOf(3, "tool", [result("c2", long)], 1);
  const step = shortened([asks, brief, lengthy], 300);
  expect(step.messages[0]).toBe(asks);
  expect(step.messages[1]).toBe(brief);
  expect([...step.shortened]).toEqual([3]);
  expect(tokensOf(step.messages)).toBeLessThanOrEqual(300);
  expect(tokensOf(step.messages)).toBeGreaterThan(250);
});

test("gives many long results an equal share", () => {
  const asks = messageOf(
    0,
    "assistant",
    Array.from({ length: 40 }, (_, index) => call(`c${index}`, "run")),
  );
  const results = Array.from({ length: 40 }, (_, index) =>
    messageOf(index + 1, "tool", [result(`c${index}`, long)], 0),
  );
  const step = shortened([asks, ...results], 8_000);
  const lengths = step.messages.slice(1).map(({ parts }) => JSON.stringify(parts).length);
  expect(tokensOf(step.messages)).toBeLessThanOrEqual(8_000);
  expect(tokensOf(step.messages)).toBeGreaterThan(7_000);
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThan(5);
});

test("reaches into arguments, and keeps their names and the other values", () => {
  const asks = messageOf(7, "assistant", [call("c1", "write_file", { path: "a.ts", lines: [1, long], mode: null })]);
  const [part] = shortened([asks], 200).messages[0]!.parts as { args: Record<string, unknown> }[];
  expect(part!.args).toEqual({ path: "a.ts", lines: [1, expect.stringContaining("expand message 7")], mode: null });
});

test("names files and data instead of sending them", () => {
  const content = [
    { type: "file" as const, mediaType: "image/png", name: "a.png", data: "A".repeat(4_000) },
    { type: "data" as const, data: [long] },
    { type: "text" as const, text: "Done." },
  ];
  const answer = messageOf(2, "tool", [{ type: "tool_result", toolCallId: "c1", content }], 1);
  const [part] = shortened([messageOf(1, "assistant", [call("c1", "shoot")]), answer], 300).messages[1]!.parts;
  expect((part as { content: Part[] }).content).toEqual([
    { type: "text", text: '[file image/png "a.png" (3,000 bytes) left out, expand message 2]' },
    {
      type: "text",
      text: expect.stringMatching(
        /^\["[a-d]+ \[… \d+ characters …\] [a-d]+"\]\n\[shortened from 4,004 characters, expand message 2\]$/,
      ),
    },
    { type: "text", text: "Done." },
  ]);
});

test("keeps reasoning, provider fields and what else a part carries", () => {
  const parts: Part[] = [
    { type: "reasoning", text: long, signature: "xyz" },
    { type: "text", text: long, cache: { ttl: 5 } },
  ];
  const [message] = shortened([messageOf(1, "assistant", parts)], 10).messages;
  expect(message!.parts[0]).toBe(parts[0]);
  expect(message!.parts[1]).toMatchObject({ cache: { ttl: 5 } });
});

test("gives the shortest form where nothing fits", () => {
  const [message] = shortened([messageOf(1, "assistant", [{ type: "text", text: long }])], 3).messages;
  expect((message!.parts[0] as { text: string }).text.length).toBeLessThanOrEqual(240);
  expect(message!.tokenCount).toBe(4 + 60);
});
