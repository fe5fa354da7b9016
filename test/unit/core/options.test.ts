import { expect, test } from "vitest";
import { type SessionSettings, sessionSettings } from "../../../src/core/options.ts";

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
])("refuses %s of %j", (option, value, expected) => {
  expect(() => sessionSettings({ [option]: value })).toThrow(invalid(option, expected, value));
});

test("refuses an option that there is not", () => {
  expect(() => sessionSettings({ hotsize: 3 } as object)).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining('got "hotsize"') }),
  );
});

test("refuses an overlap that outlives its batch, wherever the two come from", () => {
  const refusal = invalid("overlap", "at most evictBatch (3), so that each batch outlives the overlap", 4);
  expect(() => sessionSettings({ evictBatch: 3 })).toThrow(refusal);
  expect(sessionSettings({ evictBatch: 3, overlap: 3 })).toMatchObject({ evictBatch: 3, overlap: 3 });
});
