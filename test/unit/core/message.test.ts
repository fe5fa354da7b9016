import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageSchemas, type ParsedMessage, parseMessage } from "../../../src/core/message.ts";
import { firstIssue } from "../../../src/core/schema.ts";
import { runs, seenInRuns } from "../../support/effort.ts";

/** A value as it comes from a provider: `__proto__` is a key like any other. */
const json = (text: string): unknown => JSON.parse(text);

function refusalOf(input: unknown): string {
  try {
    parseMessage(input);
  } catch (error) {
    expect(error).toMatchObject({ code: "MESSAGE_INVALID" });
    const { path, reason } = (error as { details: { path: string; reason: string } }).details;
    return `${path}: ${reason}`;
  }
  throw new Error("It was taken");
}

const user = (...parts: unknown[]): unknown => ({ role: "user", parts });
const data = (value: unknown): unknown => user({ type: "data", data: value });
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

describe("parseMessage", () => {
  test("takes a string for one text part", () => {
    expect(parseMessage({ role: "user", content: "hello" })).toEqual({
      role: "user",
      parts: [{ type: "text", text: "hello" }],
      name: undefined,
      externalId: undefined,
      createdAtMs: undefined,
      pinned: false,
      metadata: undefined,
    } satisfies ParsedMessage);
  });

  test("takes parts under either name", () => {
    const parts = [{ type: "text", text: "a" }];
    expect(parseMessage({ role: "user", content: parts }).parts).toEqual(parts);
    expect(parseMessage({ role: "user", parts }).parts).toEqual(parts);
  });

  test("takes a date, and returns its milliseconds", () => {
    expect(parseMessage({ role: "user", content: "a", createdAt: new Date(5) }).createdAtMs).toBe(5);
  });

  test("keeps what it does not know of a part, in its order", () => {
    const part = { signature: "abc", type: "text", text: "a", index: 0 };
    expect(JSON.stringify(parseMessage(user(part)).parts)).toBe(
      '[{"signature":"abc","type":"text","text":"a","index":0}]',
    );
  });

  test.each([
    ["metadata", '{"role":"user","content":"a","metadata":{"__proto__":1}}', '{"__proto__":1}', "metadata"],
    [
      "a part",
      '{"role":"user","parts":[{"type":"text","text":"a","__proto__":{"x":1}}]}',
      '[{"type":"text","text":"a","__proto__":{"x":1}}]',
      "parts",
    ],
    [
      "a part of a result",
      '{"role":"tool","parts":[{"type":"tool_result","toolCallId":"c","content":[{"type":"text","text":"a","__proto__":1}]}]}',
      '[{"type":"tool_result","toolCallId":"c","content":[{"type":"text","text":"a","__proto__":1}]}]',
      "parts",
    ],
    [
      "arguments",
      '{"role":"assistant","parts":[{"type":"tool_call","toolCallId":"c","name":"f","args":{"__proto__":{"x":1}}}]}',
      '[{"type":"tool_call","toolCallId":"c","name":"f","args":{"__proto__":{"x":1}}}]',
      "parts",
    ],
  ] as const)("keeps a key __proto__ of %s, and changes no prototype", (_, input, expected, field) => {
    const kept = parseMessage(json(input))[field];
    expect(JSON.stringify(kept)).toBe(expected);
    expect(Object.getPrototypeOf(kept)).toBe(field === "parts" ? Array.prototype : Object.prototype);
  });

  test("gives a copy: the caller may go on changing what was handed over", () => {
    const args = { path: "a.ts" };
    const message = parseMessage({
      role: "assistant",
      parts: [{ type: "tool_call", toolCallId: "c", name: "f", args }],
    });
    args.path = "b.ts";
    expect(message.parts[0]).toMatchObject({ args: { path: "a.ts" } });
  });

  test("counts a field that is undefined as absent", () => {
    expect(parseMessage({ role: "user", content: "a", name: undefined, extra: undefined }).metadata).toBeUndefined();
    expect(parseMessage(data({ a: undefined, b: 1 })).parts).toEqual([{ type: "data", data: { b: 1 } }]);
  });

  test.each([
    [1_700_000_000_000, 1_700_000_000_000],
    [1_700_000_000_000.9, 1_700_000_000_000],
    ["2023-11-14T22:13:20Z", 1_700_000_000_000],
    ["2023-11-14T23:13:20.5+01:00", 1_700_000_000_500],
    [-1, -1],
    [8.64e15, 8.64e15],
    [-8.64e15, -8.64e15],
  ])("reads the time %s", (createdAt, expected) => {
    expect(parseMessage({ role: "user", content: "a", createdAt }).createdAtMs).toBe(expected);
  });

  test.each<[unknown, string]>([
    [null, "message: Invalid input: expected object, received null"],
    [{ content: "a" }, 'role: Invalid option: expected one of "system"|"user"|"assistant"|"tool"'],
    [{ role: "user" }, "content: neither `content` nor `parts` was given"],
    [{ role: "user", content: "a", parts: [] }, "content: give `content` or `parts`, not both"],
    [{ role: "user", content: 5 }, "content: Invalid input: expected string or array"],
    [
      { role: "user", content: [{ type: "text" }] },
      "content[0].text: Invalid input: expected string, received undefined",
    ],
    [user({ type: "text" }), "parts[0].text: Invalid input: expected string, received undefined"],
    [
      user({ type: "tool_call", toolCallId: "c", name: "f", args: {} }),
      'parts[0].type: a message of role "user" has parts of type text, file, data, not "tool_call"',
    ],
    [
      { role: "assistant", parts: [{ type: "tool_result", toolCallId: "c", content: "a" }] },
      'parts[0].type: a message of role "assistant" has parts of type text, reasoning, tool_call, file, data, not "tool_result"',
    ],
    [
      { role: "tool", content: "done" },
      'parts[0].type: a message of role "tool" has parts of type tool_result, not "text"',
    ],
    [data(Number.NaN), "parts[0].data: NaN is not a JSON number"],
    [data([1, { a: Number.POSITIVE_INFINITY }]), "parts[0].data[1].a: Infinity is not a JSON number"],
    [data([undefined]), "parts[0].data[0]: undefined is not JSON"],
    [data(new Array(1)), "parts[0].data[0]: undefined is not JSON"],
    [data(1n), "parts[0].data: bigint is not JSON"],
    [data(() => 1), "parts[0].data: function is not JSON"],
    [data(new Date(0)), "parts[0].data: expected plain JSON, got an instance of Date"],
    [
      user(
        new (class Part {
          type = "text";
          text = "a";
        })(),
      ),
      "parts[0]: expected plain JSON, got an instance of Part",
    ],
    [{ role: "user", content: "a", id: "" }, "id: Too small: expected string to have >=1 characters"],
    [{ role: "user", content: "a", id: "a\ud800" }, "id: half of a surrogate pair cannot be stored"],
    [{ role: "user", content: "a", name: "\udc00" }, "name: half of a surrogate pair cannot be stored"],
    [{ role: "user", content: "a", id: "x".repeat(513) }, "id: Too big: expected string to have <=512 characters"],
    [{ role: "user", content: "a", pined: true }, "pined: a message has no such field. Did you mean pinned?"],
    [{ role: "user", content: "a", turn: 1 }, "turn: a message has no such field. Other data belongs in `metadata`."],
    [
      { role: "user", content: "a", createdAt: new Date(Number.NaN) },
      "createdAt: expected Unix milliseconds or an ISO 8601 time, got Invalid Date",
    ],
    [
      { role: "user", content: "a", createdAt: "soon" },
      'createdAt: expected Unix milliseconds or an ISO 8601 time, got "soon"',
    ],
    [
      { role: "user", content: "a", createdAt: 9e15 },
      "createdAt: 9000000000000000 is more than 8640000000000000 milliseconds from 1970",
    ],
    [user(...Array(10_001).fill({ type: "text", text: "" })), "parts: 10001 parts; a message has at most 10000"],
    [
      user({ type: "text", text: "x".repeat(67_108_865) }),
      "parts[0].text: the message is longer than 67108864 characters",
    ],
  ])("refuses with the path and the reason (%#)", (input, expected) => {
    expect(refusalOf(input)).toBe(expected);
  });

  test("takes 198 levels below a part and refuses one more, and a cycle", () => {
    expect(parseMessage(data(nested(198))).parts).toHaveLength(1);
    expect(refusalOf(data(nested(199)))).toMatch(
      /^parts\[0\]\S{1,52}…: nested deeper than 200 levels, or a value that contains itself$/,
    );
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(refusalOf(data(cycle))).toMatch(
      /^parts\[0\]\S{1,52}…: nested deeper than 200 levels, or a value that contains itself$/,
    );
  });
});

test("refuses lists that have the fields of a message or a part, and does not ask a list's own methods", () => {
  const listWith = (fields: object): unknown => Object.assign([], fields);
  const lax = Object.assign([{ type: "text", text: 5 }], { every: () => true, includes: () => false });
  expect(refusalOf(listWith({ role: "user", content: "a" }))).toMatch(/^message: /);
  expect(refusalOf(user(listWith({ type: "text", text: "a" })))).toMatch(/^parts\[0\]: /);
  expect(refusalOf({ role: "user", parts: lax })).toMatch(/^parts\[0\]\.text: /);
});

/**
 * Goal: a message that is checked without the schema is one that the schema accepts.
 * Method: messages whose fields are mostly right, and sometimes missing or of another type.
 */
test("refuses every message that the schema refuses", () => {
  const odd = fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    "a",
    "\ud800",
    "x".repeat(5_000),
    0,
    Number.NaN,
    true,
    {},
    [],
  );
  const mostly = (value: unknown) =>
    fc.oneof({ weight: 12, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: odd });
  const part = fc.record(
    {
      type: mostly("text"),
      text: mostly("a"),
      toolCallId: mostly("c"),
      name: mostly(undefined),
      content: mostly("a"),
      args: odd,
      isError: mostly(undefined),
      injected: mostly(undefined),
    },
    { requiredKeys: ["type"] },
  );
  const parts = (type: string, name: unknown) =>
    fc.array(
      part.map((one) => (one.type === "text" ? { ...one, type, name: one.name ?? name } : one)),
      { maxLength: 18 },
    );
  const kinds = [parts("text", undefined), parts("tool_call", "f"), parts("tool_result", undefined)];
  const said = fc.oneof(...kinds, odd);
  const rest = { id: mostly(undefined), createdAt: mostly(0), pinned: mostly(undefined), metadata: mostly(undefined) };
  const message = fc.record(
    {
      role: fc.constantFrom<unknown>("assistant", "assistant", "tool", "user", null),
      content: said,
      parts: said,
      name: mostly(undefined),
      ...rest,
    },
    { requiredKeys: [] },
  );
  let acceptedCount = 0;
  fc.assert(
    fc.property(fc.oneof(message, odd), (input) => {
      const isRefused = firstIssue(messageSchemas().message, input) !== undefined;
      if (isRefused) expect(() => parseMessage(input)).toThrow(expect.objectContaining({ code: "MESSAGE_INVALID" }));
      else acceptedCount += 1;
    }),
    { numRuns: runs(3_000) },
  );
  expect(acceptedCount).toBeGreaterThan(seenInRuns(50));
});
