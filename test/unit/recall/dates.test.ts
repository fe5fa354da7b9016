import { describe, expect, test } from "vitest";
import { namedDates, relativeTimes } from "../../../src/core/named-times.ts";
import { datedness } from "../../../src/recall/dates.ts";

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
  const time = new Date(2023, 4, 8, 23, 59).getTime();
  expect(datedness([date(2023, 5, 8)], time)).toBe(1);
  expect(datedness([date(undefined, 5, 8)], time)).toBe(1);
  expect(datedness([date(2023, 5, 9)], time)).toBe(2 / 3); // the day after, when people speak of it
  expect(datedness([date(2023, 5)], time)).toBe(2 / 3);
  expect(datedness([date(2023)], time)).toBe(1 / 3);
  expect(datedness([date(2022, 5, 8)], time)).toBe(0);
  expect(datedness([date(2023, 6), date(2023)], time)).toBe(1 / 3);
  expect(datedness([], time)).toBe(0);
});

test("a text that repeats a date names it once, and of very many dates only 64 count", () => {
  const time = Date.UTC(2023, 4, 8);
  const repeated = namedDates("2023 ".repeat(200_000));
  expect(repeated).toEqual([date(2023)]);
  expect(datedness(repeated, time)).toBe(1 / 3);
  const days = Array.from({ length: 200_000 }, (_, index) => `${1900 + (index % 200)}-${1 + (index % 12)}`).join(" ");
  expect(namedDates(days)).toHaveLength(64);
  expect(relativeTimes("2 days ago ".repeat(200_000), time)).toHaveLength(1);
});
