import fc from "fast-check";
import { expect, test } from "vitest";
import { hintOf, namesIn, patternOf } from "../../../../src/models/gemini/names.ts";
import { runs, seenInRuns } from "../../../support/effort.ts";

const names = (text: string, name: string): boolean => patternOf(name, "u").test(text);

test.each([
  ["It calls loadUser() in src/auth/login.ts:42.", ["loadUser", "src/auth/login.ts:42"]],
  ["LOGIN_DB_URL and ECONNREFUSED, from 10.0.0.7:5432", ["LOGIN_DB_URL", "ECONNREFUSED", "10.0.0.7:5432"]],
  ["Version v2.1.0 of @scope/pkg needs --no-verify.", ["v2.1.0", "@scope/pkg", "--no-verify"]],
  ["It took 1,200 ms, not 3-5 seconds.", ["1,200", "3", "5"]],
  ["Run `npm test` in ./packages/core/ first.", ["./packages/core"]],
  ["loadUser's cache, see https://example.org/a", ["loadUser", "https://example.org/a"]],
  ["我们决定在2024年换一个区域", ["2024"]],
])("of %j the names are %j", (text, expected) => {
  expect(namesIn(text)).toEqual(expected);
});

test("language is no name", () => {
  expect(namesIn("The read/write path, and/or a well-known client-server API, e.g. ours, i.e. both. OK? Yes!")).toEqual(
    [],
  );
});

test("a name stands by itself", () => {
  expect(names("see src/auth/login.ts", "login.ts")).toBe(true);
  expect(names("see relogin.ts", "login.ts")).toBe(false);
  expect(names("loadUsers()", "loadUser")).toBe(false);
  expect(names("call loadUser()", "loadUser")).toBe(true);
  expect(names("a.b", "a+b")).toBe(false);
  expect(names("use C++ or a/b(c)", "a/b(c)")).toBe(true);
});

test("a figure stands by itself, with or without its commas and its unit", () => {
  expect(names("waits 500ms", "500")).toBe(true);
  expect(names("waits 500 ms", "500ms")).toBe(true);
  expect(names("1,200 rows", "1200")).toBe(true);
  expect(names("1200 rows", "1,200")).toBe(true);
  expect(names("a 3 hour stop", "3-hour")).toBe(true);
  for (const text of ["1500", "5000", "v500", "1,500", "500.5", "0.500", "host500"]) {
    expect(names(text, "500"), text).toBe(false);
  }
});

test("the hint of a name stands in every text that names it", () => {
  // Goal: looking for the hint first loses nothing. Method: texts made of spellings of the names that are looked for.
  const spelling = fc.constantFrom(
    "1,200",
    "1200",
    "1200ms",
    "12.5",
    "1,234,567.89",
    "loadUser",
    "LOADUSER",
    "src/A.ts",
    "3-hour",
    "v2",
  );
  const text = fc
    .array(fc.oneof(spelling, fc.constantFrom(" ", ", ", ".", "x", "0")), { maxLength: 8 })
    .map((all) => all.join(""));
  let named = 0;
  fc.assert(
    fc.property(spelling, text, (name, where) => {
      if (!patternOf(name, "iu").test(where)) return;
      named++;
      expect(where.toLowerCase()).toContain(hintOf(name));
    }),
    { numRuns: runs(500) },
  );
  expect(named).toBeGreaterThan(seenInRuns(25));
});
