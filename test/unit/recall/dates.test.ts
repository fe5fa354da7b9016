import { describe, expect, test } from "vitest";
import { datedness, namedDates } from "../../../src/recall/dates.ts";

const date = (year?: number, month?: number, day?: number) => ({ year, month, day });

describe("the dates that a text names", () => {
  test.each([
    ["what did we say on 2026-11-03?", [date(2026, 11, 3)]],
    ["all of 2026-11", [date(2026, 11)]],
    ["on 8 May, 2023 and on the 3rd of June", [date(2023, 5, 8), date(undefined, 6, 3)]],
    ["May 8th 2023", [date(2023, 5, 8)]],
    ["in September 2024", [date(2024, 9)]],
    ["last october", [date(undefined, 10)]],
    ["the plan for 2025", [date(2025)]],
    ["may we march on the deck?", []],
    ["version 20.19 of a 12024 line file", []],
    ["", []],
  ])("%s", (text, dates) => {
    expect(namedDates(text)).toEqual(dates);
  });
});

test("a time is named by the day best, then by the month, then by the year, and by another not at all", () => {
  const time = Date.UTC(2023, 4, 8, 23, 59);
  expect(datedness([date(2023, 5, 8)], time)).toBe(1);
  expect(datedness([date(undefined, 5, 8)], time)).toBe(1);
  expect(datedness([date(2023, 5, 9)], time)).toBe(2 / 3); // the day after, when people speak of it
  expect(datedness([date(2023, 5)], time)).toBe(2 / 3);
  expect(datedness([date(2023)], time)).toBe(1 / 3);
  expect(datedness([date(2022, 5, 8)], time)).toBe(0);
  expect(datedness([date(2023, 6), date(2023)], time)).toBe(1 / 3);
  expect(datedness([], time)).toBe(0);
});
