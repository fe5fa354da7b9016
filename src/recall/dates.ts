/** A day, month or year in UTC. Months count from 1. */
export interface NamedDate {
  year: number | undefined;
  month: number | undefined;
  day: number | undefined;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const DAY = "(?<day>\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "(?<year>(?:19|20)\\d{2})";

/** Each pattern is searched in the text that the earlier patterns did not match. */
const PATTERNS = [
  `\\b${YEAR}-(?<month>\\d{2})(?:-(?<day>\\d{2}))?\\b`,
  `\\b${DAY}\\s+(?:of\\s+)?${MONTH}\\b\\.?(?:,?\\s+${YEAR}\\b)?`,
  `\\b${MONTH}\\.?\\s+${DAY}\\b(?:,?\\s+${YEAR}\\b)?`,
  `\\b${MONTH}\\.?,?\\s+(?:of\\s+)?${YEAR}\\b`,
  `\\b(?!may\\b|mar(?:ch)?\\b)${MONTH}\\b`, // "may" and "march" are also verbs
  `(?<=\\b(?:in|since|during|last|this|of)\\s+)(?<month>may|march)\\b`,
  `\\b${YEAR}\\b`,
].map((pattern) => new RegExp(pattern, "gi"));

/** The most dates of a text that count. A pasted log names thousands. */
const DATES_MAX = 64;

/** Returns the days, months and years that a text names in English or in ISO 8601: each once, at most 64. */
export function namedDates(text: string): NamedDate[] {
  const found = new Map<string, NamedDate>();
  let rest = text;
  for (const pattern of PATTERNS) {
    rest = rest.replace(pattern, (...match) => {
      const { year, month, day } = match.at(-1) as Record<string, string | undefined>;
      const date = { year: numberOf(year), month: monthOf(month), day: numberOf(day) };
      if (found.size < DATES_MAX) found.set(`${date.year} ${date.month} ${date.day}`, date);
      return " ";
    });
  }
  return [...found.values()];
}

/** Returns how exactly the dates name a time: 1 for the day, 2/3 for the month, 1/3 for the year, else 0. */
export function datedness(dates: readonly NamedDate[], timeMs: number): number {
  if (dates.length === 0) return 0;
  const time = new Date(timeMs);
  const [atYear, atMonth, atDay] = [time.getUTCFullYear(), time.getUTCMonth() + 1, time.getUTCDate()];
  return Math.max(
    ...dates.map(({ year, month, day }) => {
      if (year !== undefined && year !== atYear) return 0;
      if (month === undefined) return 1 / 3;
      if (month !== atMonth) return 0;
      return day === atDay ? 1 : 2 / 3;
    }),
  );
}

/** Both ends in Unix milliseconds. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

const DAY_MS = 86_400_000;

/** Days in which the nearness of an earlier and of a later time falls to 1/e. People tell what happened. */
const BEFORE_DAYS = 3;
const AFTER_DAYS = 10;

/** Returns how near a time is to one of the dates, in [0, 1]. A date without a year is meant in the year that is nearest. */
export function nearness(dates: readonly NamedDate[], timeMs: number): number {
  const year = new Date(timeMs).getUTCFullYear();
  const ranges = dates.flatMap((date) => {
    const years = date.year === undefined ? [year - 1, year, year + 1] : [date.year];
    return years.map((atYear) => rangeOf({ ...date, year: atYear }));
  });
  const gaps = ranges.map(({ fromMs, toMs }) => {
    return timeMs < fromMs ? (timeMs - fromMs) / BEFORE_DAYS : Math.min(0, toMs - timeMs) / AFTER_DAYS;
  });
  return Math.exp(Math.max(Number.NEGATIVE_INFINITY, ...gaps) / DAY_MS);
}

function rangeOf({ year, month, day }: NamedDate & { year: number }): TimeRange {
  const toOf = (nextMs: number) => nextMs - 1;
  if (month === undefined) return { fromMs: Date.UTC(year, 0), toMs: toOf(Date.UTC(year + 1, 0)) };
  if (day === undefined) return { fromMs: Date.UTC(year, month - 1), toMs: toOf(Date.UTC(year, month)) };
  return { fromMs: Date.UTC(year, month - 1, day), toMs: toOf(Date.UTC(year, month - 1, day + 1)) };
}

/** Days in which the worth of being near a time falls to 1/e. Half of all commits are made within the session that wrote them. */
const NEAR_DAYS = 2;

/** What begins after the time counts as this much farther away, because it cannot have led there. */
const LATER = 3;

/** Returns how near something is that went on from `fromMs` to `toMs`: 1 if it overlaps one of the ranges, else less, down to 0. */
export function closeness(ranges: readonly TimeRange[], { fromMs, toMs }: TimeRange): number {
  const gaps = ranges.map((range) => Math.max(0, range.fromMs - toMs, LATER * (fromMs - range.toMs)));
  return Math.exp(-Math.min(Number.POSITIVE_INFINITY, ...gaps) / (NEAR_DAYS * DAY_MS));
}

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const AGO = /\b(\d{1,3}|an?|one|two|three|four|five|six|a few|a couple of) (day|week|month|year)s? ago\b/g;
const COUNTS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  "a few": 3,
  "a couple of": 2,
};
const DAYS_OF = { day: 1, week: 7, month: 30, year: 365 };

/**
 * Returns the times that a question names relative to now, such as "yesterday", "last week", "two months ago" and "in May", which
 * is the last May that has begun. Weeks begin on Monday, and days are those of UTC. Each time is returned once, at most 64.
 */
export function relativeTimes(text: string, nowMs: number): TimeRange[] {
  const asked = text.toLowerCase();
  const found = new Map<string, TimeRange>();
  const add = (range: TimeRange): void => {
    if (found.size < DATES_MAX) found.set(`${range.fromMs} ${range.toMs}`, range);
  };
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const between = (fromMs: number, nextMs: number): void => add({ fromMs, toMs: nextMs - 1 });
  const days = (first: number, count: number): void =>
    between(Date.UTC(year, month, day + first), Date.UTC(year, month, day + first + count));
  const monday = -((now.getUTCDay() + 6) % 7);
  if (/\b(?:today|this morning|tonight)\b/.test(asked)) days(0, 1);
  if (/\b(?:yesterday|last night)\b/.test(asked)) days(-1, 1);
  if (/\bthis week\b/.test(asked)) days(monday, 7);
  if (/\blast week\b/.test(asked)) days(monday - 7, 7);
  if (/\b(?:last|past) weekend\b/.test(asked)) days(monday - 2, 2);
  if (/\bthis month\b/.test(asked)) between(Date.UTC(year, month), Date.UTC(year, month + 1));
  if (/\blast month\b/.test(asked)) between(Date.UTC(year, month - 1), Date.UTC(year, month));
  if (/\bthis year\b/.test(asked)) between(Date.UTC(year, 0), Date.UTC(year + 1, 0));
  if (/\blast year\b/.test(asked)) between(Date.UTC(year - 1, 0), Date.UTC(year, 0));
  for (const [, weekday] of asked.matchAll(
    /\b(?:last|on) (sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)day\b/g,
  )) {
    days(-((now.getUTCDay() - WEEKDAYS.indexOf(weekday!.slice(0, 3)) + 6) % 7) - 1, 1);
  }
  for (const [, count, unit] of asked.matchAll(AGO)) {
    const length = DAYS_OF[unit as keyof typeof DAYS_OF];
    const ago = (COUNTS[count!] ?? (Number(count) || 1)) * length;
    days(-ago - Math.floor(length / 2), length);
  }
  for (const { year: named, month: ofYear, day: ofMonth } of namedDates(text)) {
    if (named !== undefined || ofYear === undefined) continue;
    const range = rangeOf({ year, month: ofYear, day: ofMonth });
    add(range.fromMs <= nowMs ? range : rangeOf({ year: year - 1, month: ofYear, day: ofMonth }));
  }
  return [...found.values()];
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function monthOf(text: string | undefined): number | undefined {
  if (text === undefined || /\d/.test(text)) return numberOf(text);
  return MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;
}
