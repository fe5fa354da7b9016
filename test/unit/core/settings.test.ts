import { expect, test } from "vitest";
import type { SessionSettings } from "../../../src/core/options.ts";
import { sessionSettings } from "../../../src/core/settings.ts";

const invalid = (option: string, expected: string, actual: unknown) =>
  expect.objectContaining({ code: "OPTION_INVALID", details: { option, expected, actual } });

test("takes what is given over what is stored, and that over the defaults", () => {
  const stored: SessionSettings = { ...sessionSettings({}), hotSize: 12, maxThemes: 4 };
  const settings = sessionSettings({ maxThemes: 5 }, stored);
  expect([settings.hotSize, settings.maxThemes, settings.overlap]).toEqual([12, 5, 4]);
});

test.each([
  ["hotSize", 0, "a whole number from 1 to 10000"],
  ["hotSize", 1.5, "a whole number from 1 to 10000"],
  ["hotSize", "30", "a whole number from 1 to 10000"],
  ["maxThemes", 101, "a whole number from 1 to 100"],
  ["hotTokensMax", Number.NaN, "a whole number from 100 to 100000000"],
  ["strategy", "round", "one of union-find, sandwich, flat, full"],
  ["strategy", 1, "one of union-find, sandwich, flat, full"],
  ["flatTrigger", 1.01, "a number from 0.01 to 1"],
  ["flatTail", Number.NaN, "a number from 0 to 0.99"],
  ["sandwichTail", "0.3", "a number from 0 to 0.99"],
])("refuses %s of %j", (option, value, expected) => {
  expect(() => sessionSettings({ [option]: value })).toThrow(invalid(option, expected, value));
});

test("refuses an option that there is not", () => {
  expect(() => sessionSettings({ hotsize: 3 } as object)).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining('got "hotsize"') }),
  );
});

test("refuses to let an old message cost more than a recent one, wherever the two come from", () => {
  const expected = "at most messageTokensMax (2000), so that messages do not grow with age";
  expect(() => sessionSettings({ messageTokensMax: 2_000 })).toThrow(invalid("oldMessageTokensMax", expected, 2_500));
  const settings = sessionSettings({ oldMessageTokensMax: 2_000 }, sessionSettings({}));
  expect(sessionSettings({ messageTokensMax: 2_000 }, settings)).toMatchObject({ oldMessageTokensMax: 2_000 });
});

test("refuses an overlap that outlives its batch, wherever the two come from", () => {
  const refusal = invalid("overlap", "at most evictBatch (3)", 4);
  expect(() => sessionSettings({ evictBatch: 3 })).toThrow(refusal);
  expect(sessionSettings({ evictBatch: 3, overlap: 3 })).toMatchObject({ evictBatch: 3, overlap: 3 });
});

test("refuses a tail that is not smaller than what triggers cutting to it", () => {
  const expected = "at least 0.2 less than flatTrigger (0.49), so that compacting frees tokens";
  expect(() => sessionSettings({ flatTrigger: 0.49 })).toThrow(invalid("flatTail", expected, 0.3));
  expect(sessionSettings({ flatTrigger: 0.5 })).toMatchObject({ flatTrigger: 0.5, flatTail: 0.3 });
});

test("refuses a sandwich whose ends leave no room between them", () => {
  const expected =
    "at least 0.2 less than sandwichTrigger (0.85) minus sandwichHead (0.36), so that compacting frees tokens";
  expect(() => sessionSettings({ sandwichHead: 0.36 })).toThrow(invalid("sandwichTail", expected, 0.3));
  expect(sessionSettings({ sandwichHead: 0.35 })).toMatchObject({ sandwichTail: 0.3 });
});
