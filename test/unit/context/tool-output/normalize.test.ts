import { expect, test } from "vitest";
import { normalWindow } from "../../../../src/context/tool-output/normalize.ts";
import type { Message, Part } from "../../../../src/core/message.ts";
import { call, messageOf, result, textMessage } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";

const limits = { oldMessageTokensMax: 200, messageTokensMax: 1_000, recentTokensMax: 500 };

/** A result that costs about `tokens`, of a step of its own. */
function output(seq: number, tokens: number): Message {
  return messageOf(seq, "tool", [result("c", "some words\n".repeat((tokens * 4) / 11))]);
}

function costs(window: readonly Message[], graduatedSeq: number): number[] {
  return normalWindow(window, graduatedSeq, limits, quarterCounter).window.map(({ tokenCount }) => tokenCount);
}

test("leaves messages within their limit as they are, the very same objects", () => {
  const window = [output(0, 150), textMessage(1, "user", 900), output(2, 950)];
  const normal = normalWindow(window, 2, limits, quarterCounter);
  expect(normal.shortened).toEqual(new Set());
  normal.window.forEach((message, index) => {
    expect(message).toBe(window[index]);
  });
});

test("lets a message that has not graduated cost the maximum, however much has come after it", () => {
  const large = output(0, 3_000);
  const [alone] = normalWindow([large], 0, limits, quarterCounter).window;
  expect(alone!.tokenCount).toBeLessThanOrEqual(1_000);
  expect(alone!.tokenCount).toBeGreaterThan(900);
  const later = normalWindow([large, output(1, 900), output(2, 900)], 0, limits, quarterCounter);
  expect(later.window[0]).toBe(alone);
  expect(later.shortened).toEqual(new Set([0]));
});

test("lets what has graduated cost less the more tokens stand between it and the newest that has", () => {
  // Tokens from its end to seq 4: 0 of the last, then 250, 500, 750 (halfway down from 1,000 to 200) and 1,000.
  const spacer = (seq: number) => textMessage(seq, "user", 250);
  const limitOf = (spacers: number) => {
    const window = [output(0, 3_000), ...Array.from({ length: spacers }, (_, index) => spacer(index + 1))];
    return costs(window, spacers + 1)[0]!;
  };
  const limits = [1_000, 1_000, 1_000, 600, 200, 200];
  limits.forEach((limit, spacers) => {
    expect(limitOf(spacers)).toBeLessThanOrEqual(limit);
    expect(limitOf(spacers)).toBeGreaterThan(limit * 0.8); // the next try after one that is too long is a tenth less
  });
});

test("shortens results and arguments, and nothing that anybody said or thought", () => {
  const long = "some words ".repeat(400);
  const parts: Part[] = [
    { type: "reasoning", text: long },
    { type: "text", text: long },
    call("c1", "write", { path: "a.ts", content: long }),
  ];
  const [said, asked] = normalWindow(
    [messageOf(0, "assistant", parts), textMessage(1, "user", 2_000)],
    0,
    limits,
    quarterCounter,
  ).window;
  expect(said!.parts.slice(0, 2)).toEqual(parts.slice(0, 2));
  expect(said!.parts[2]).toMatchObject({
    args: { path: "a.ts", content: expect.stringContaining("expand message 0") },
  });
  expect(asked!.tokenCount).toBe(2_000);
});

test("stays with what it gave when it is asked again, unless the limit has changed", () => {
  const large = output(0, 3_000);
  const first = normalWindow([large], 0, limits, quarterCounter).window[0];
  expect(normalWindow([large], 0, limits, quarterCounter).window[0]).toBe(first);
  const other = normalWindow([large], 0, { ...limits, messageTokensMax: 500 }, quarterCounter).window[0]!;
  expect(other.tokenCount).toBeLessThanOrEqual(500);
});
