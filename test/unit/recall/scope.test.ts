import { expect, test } from "vitest";
import { scopeOf } from "../../../src/recall/scope.ts";

test("a scope is what was given, and nothing else", () => {
  const scope = {
    project: "web",
    sessionIds: ["a", "b"],
    roles: ["user", "tool"],
    partTypes: ["tool_call", "data"],
    sinceMs: -1.5,
    untilMs: 0,
  } as const;
  expect(scopeOf({ ...scope, limit: 3 } as never)).toEqual(scope);
  expect(scopeOf({})).toEqual({});
  expect(scopeOf({ sessionIds: [], roles: [] })).toEqual({ sessionIds: [], roles: [] });
});

test.each([
  [{ project: 7 }, "Expected project to be text, got 7."],
  [{ sessionIds: "a" }, 'Expected sessionIds to be a list, got "a".'],
  [{ sessionIds: ["a", null] }, "Expected sessionIds to be text, got null."],
  [{ roles: "user" }, 'Expected roles to be a list, got "user".'],
  [{ roles: ["human"] }, 'Expected roles to be one of system, user, assistant, tool, got "human".'],
  [
    { partTypes: ["image"] },
    'Expected partTypes to be one of text, reasoning, tool_call, tool_result, file, data, got "image".',
  ],
  [{ sinceMs: Number.NaN }, "Expected sinceMs to be a time in Unix milliseconds, got NaN."],
  [{ untilMs: "2026-11-01" }, 'Expected untilMs to be a time in Unix milliseconds, got "2026-11-01".'],
  [{ untilMs: Number.POSITIVE_INFINITY }, "Expected untilMs to be a time in Unix milliseconds, got Infinity."],
])("%j is refused", (scope, message) => {
  expect(() => scopeOf(scope as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID", message }));
});
