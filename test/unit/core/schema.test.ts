import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod/mini";
import { StoreError } from "../../../src/core/errors.ts";
import { once } from "../../../src/core/once.ts";
import {
  abortSignal,
  callback,
  type FieldsOf,
  identifier,
  listOf,
  oneWordOf,
  parseArguments,
  parseOptions,
  share,
  trueOrFalse,
  whole,
} from "../../../src/core/schema.ts";

interface LookOptions {
  limit?: number;
  share?: number;
  level?: "near" | "far";
  isDeep?: boolean;
  roles?: readonly ("user" | "tool")[];
  project?: string;
  signal?: AbortSignal;
  onFound?: (count: number) => void;
}

const LOOK_OPTIONS = once(() =>
  z.strictObject({
    limit: z._default(whole(1, 100), 10).check(z.describe("The most things to return")),
    share: z.optional(share(0, 1)),
    level: z.optional(oneWordOf(["near", "far"])),
    isDeep: z.optional(trueOrFalse()),
    roles: z.optional(listOf(oneWordOf(["user", "tool"]))),
    project: z.optional(identifier()),
    signal: z.optional(abortSignal()),
    onFound: z.optional(callback<(count: number) => void>()),
  } satisfies FieldsOf<LookOptions>),
);

const look = (options: unknown) => parseOptions("look", LOOK_OPTIONS(), options);

test("returns the options with their defaults, and objects as they are", () => {
  const { signal } = new AbortController();
  const found = look({ level: "far", project: undefined, signal });
  expect(found).toEqual({ limit: 10, level: "far", signal });
  expect(found.signal).toBe(signal);
  expectTypeOf(found.limit).toEqualTypeOf<number>();
});

test("refuses options that cannot be read", () => {
  const throwing = Object.defineProperty({}, "limit", {
    enumerable: true,
    get: () => {
      throw new RangeError("from the caller");
    },
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const [options, type] of [
    [throwing, RangeError],
    [proxy, TypeError],
  ] as const) {
    expect(() => look(options)).toThrow(
      expect.objectContaining({
        code: "OPTION_INVALID",
        message: "Expected the options of look to be readable, got a value that JSON cannot express.",
        cause: expect.any(type),
      }),
    );
  }
});

test.each([
  [{ limit: 0 }, "Expected limit to be a whole number from 1 to 100, got 0."],
  [{ limit: 1.5 }, "Expected limit to be a whole number from 1 to 100, got 1.5."],
  [{ limit: "3" }, 'Expected limit to be a whole number from 1 to 100, got "3".'],
  [{ limit: null }, "Expected limit to be a whole number from 1 to 100, got null."],
  [{ share: Number.NaN }, "Expected share to be a number from 0 to 1, got NaN."],
  [{ level: "here" }, 'Expected level to be one of near, far, got "here".'],
  [{ isDeep: "yes" }, 'Expected isDeep to be true or false, got "yes".'],
  [{ roles: "user" }, 'Expected roles to be a list, got "user".'],
  [{ roles: ["user", "cook"] }, 'Expected roles.1 to be one of user, tool, got "cook".'],
  [{ project: "" }, 'Expected project to be a text of 1 to 512 characters without control characters, got "".'],
  [
    { project: "a\nb" },
    'Expected project to be a text of 1 to 512 characters without control characters, got "a\\nb".',
  ],
  [{ signal: {} }, "Expected signal to be an AbortSignal, got {}."],
  [{ onFound: true }, "Expected onFound to be a function, got true."],
  [null, "Expected the options of look to be an object, got null."],
  [
    { Limit: 3 },
    'Expected an option of look to be one of limit, share, level, isDeep, roles, project, signal, onFound, got "Limit".',
  ],
])("refuses %o", (options, message) => {
  expect(() => look(options)).toThrow(expect.objectContaining({ code: "OPTION_INVALID", message }));
});

test("speaks of arguments to those who send arguments", () => {
  const parse = (given: unknown) => parseArguments(z.strictObject({ id: identifier() }), given);
  expect(() => parse({ id: "a", ids: [] })).toThrow('Expected an argument to be one of id, got "ids".');
  expect(() => parse({})).toThrow("Expected id to be");
  expect(() => parse("a")).toThrow(StoreError);
});

test("a type that has no words of ours is named by those of zod", () => {
  const schema = z.strictObject({ name: z.string() });
  expect(() => parseOptions("look", schema, { name: 1 })).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ option: "name", expected: "of type string" }) }),
  );
});
