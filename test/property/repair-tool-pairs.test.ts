import fc from "fast-check";
import { expect, test } from "vitest";
import { type MessageInput, type PartInput, repairToolPairs } from "../../src/index.ts";
import { runs, seenInRuns } from "../support/effort.ts";

const idArbitrary = fc.constantFrom("call_0", "call_1", "call_2");
const textArbitrary: fc.Arbitrary<PartInput> = fc.constantFrom("ok", "").map((text) => ({ type: "text", text }));
const callArbitrary = idArbitrary.map(
  (toolCallId): PartInput => ({ type: "tool_call", toolCallId, name: "run", args: {} }),
);
const resultArbitrary = idArbitrary.map(
  (toolCallId): PartInput => ({ type: "tool_result", toolCallId, content: "ok" }),
);

const messageArbitrary: fc.Arbitrary<MessageInput> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ role: fc.constantFrom("user" as const, "system" as const), content: fc.constant("Hi.") }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constant("assistant" as const),
      parts: fc.array(fc.oneof(textArbitrary, callArbitrary, callArbitrary), { maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constant("tool" as const),
      parts: fc.array(resultArbitrary, { minLength: 1, maxLength: 3 }),
    }),
  },
);

/** An order of calls and answers that no provider refuses, told by looking at the neighbors of each message only. */
function isInOrder(messages: readonly MessageInput[]): boolean {
  const idsOf = (message: MessageInput | undefined, type: string) =>
    (message?.parts ?? []).flatMap((part) => (part.type === type ? [String(part.toolCallId)] : []));
  return messages.every((message, index) => {
    if (message.role === "tool") {
      let asking = index;
      while (messages[asking]?.role === "tool") asking--;
      return messages[asking]?.role === "assistant"; // how many and which, the asking message tells
    }
    let end = index + 1;
    while (messages[end]?.role === "tool") end++;
    const answered = messages.slice(index + 1, end).flatMap((answer) => idsOf(answer, "tool_result"));
    return answered.sort().join() === idsOf(message, "tool_call").sort().join();
  });
}

/** Keeps what must stay: every part that is no call and no result. */
function saidIn(messages: readonly MessageInput[]): string[] {
  return messages.flatMap(({ content, parts = [] }) => [
    ...(typeof content === "string" ? [content] : []),
    ...parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [String(part.text)] : [])),
  ]);
}

/**
 * Goal: whatever arrives, calls and results are in order afterwards; nothing said is lost; nothing is touched that was in
 * order; all that went is reported; and a second repair finds nothing.
 * Method: random histories of three ids, so that most are broken; the order is told by a checker that shares nothing with
 * the repair, and the report is carried out by hand on the history and compared.
 */
test("brings any history in order, once, and reports what it did", () => {
  let inOrder = 0;
  const reached = { unanswered: 0, unasked: 0, repeated: 0, message: 0, changed: 0, kept: 0 };
  fc.assert(
    fc.property(fc.array(messageArbitrary, { maxLength: 12, size: "max" }), (history) => {
      const { messages, removed, changed } = repairToolPairs(history);
      expect(isInOrder(messages)).toBe(true);
      expect(saidIn(messages)).toEqual(saidIn(history));

      const again = repairToolPairs(messages);
      expect([again.removed, again.changed]).toEqual([[], []]);
      expect(again.messages.every((message, index) => message === messages[index])).toBe(true);

      if (isInOrder(history)) {
        inOrder++;
        expect(removed).toEqual([]);
      }
      const gone = new Set(
        removed.map((entry) => `${entry.messageIndex}/${"partIndex" in entry ? entry.partIndex : "all"}`),
      );
      const carriedOut = history.flatMap((message, index) => {
        if (gone.has(`${index}/all`)) return [];
        if (message.parts === undefined) return [message];
        return [{ ...message, parts: message.parts.filter((_, part) => !gone.has(`${index}/${part}`)) }];
      });
      expect(messages).toEqual(carriedOut);
      const changedOnes = new Set(changed.map(({ index }) => index));
      messages.forEach((message, index) => {
        expect(history.includes(message)).toBe(!changedOnes.has(index));
      });

      for (const entry of removed) reached[entry.kind === "message" ? "message" : (entry.reason as "unasked")]++;
      reached.changed += changed.length;
      if (messages.some(({ role }) => role === "tool")) reached.kept++;
    }),
    { numRuns: runs(1_000) },
  );
  expect(inOrder).toBeGreaterThan(seenInRuns(25));
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(seenInRuns(100));
});
