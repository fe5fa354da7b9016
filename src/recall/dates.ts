import { type NamedDate, rangeOf, type TimeRange } from "../core/named-times.ts";

const DAY_MS = 86_400_000;

/** Returns how exactly the dates name a time: 1 for the day, 2/3 for the month, 1/3 for the year, else 0. */
export function datedness(dates: readonly NamedDate[], timeMs: number): number {
  if (dates.length === 0) return 0;
  const time = new Date(timeMs);
  const [atYear, atMonth, atDay] = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return Math.max(
    ...dates.map(({ year, month, day }) => {
      if (year !== undefined && year !== atYear) return 0;
      if (month === undefined) return 1 / 3;
      if (month !== atMonth) return 0;
      return day === atDay ? 1 : 2 / 3;
    }),
  );
}

/** The days before and after a date in which nearness falls to 1/e. It falls more slowly after it: people tell what happened. */
const BEFORE_DAYS = 3;
const AFTER_DAYS = 10;

/** Returns how near a time is to the nearest of the dates, in [0, 1]. A date without a year stands for the nearest such date. */
export function nearness(dates: readonly NamedDate[], timeMs: number): number {
  const year = new Date(timeMs).getFullYear();
  const ranges = dates.flatMap((date) => {
    const years = date.year === undefined ? [year - 1, year, year + 1] : [date.year];
    return years.map((atYear) => rangeOf({ ...date, year: atYear }));
  });
  const gaps = ranges.map(({ fromMs, toMs }) => {
    return timeMs < fromMs ? (timeMs - fromMs) / BEFORE_DAYS : Math.min(0, toMs - timeMs) / AFTER_DAYS;
  });
  return Math.exp(Math.max(Number.NEGATIVE_INFINITY, ...gaps) / DAY_MS);
}

/** Days in which the worth of being near a time falls to 1/e. Half of all commits are made within the session that wrote them. */
const NEAR_DAYS = 2;

/** A period that begins after the time counts as this many times farther away, because it cannot have led there. */
const LATER = 3;

/** Returns how near a period is to the nearest of the ranges: 1 if they overlap, otherwise less, down to 0. */
export function closeness(ranges: readonly TimeRange[], { fromMs, toMs }: TimeRange): number {
  const gaps = ranges.map((range) => Math.max(0, range.fromMs - toMs, LATER * (fromMs - range.toMs)));
  return Math.exp(-Math.min(Number.POSITIVE_INFINITY, ...gaps) / (NEAR_DAYS * DAY_MS));
}
