/** A day, month or year in the local time zone. Months count from 1. */
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

/** The most dates that are read from a text. A pasted log names thousands. */
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

/** A range of Unix milliseconds that includes both ends. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

/** Returns the range of a day, a month or a year in the local time zone. */
export function rangeOf({ year, month, day }: NamedDate & { year: number }): TimeRange {
  if (month === undefined) return between([year, 0, 1], [year + 1, 0, 1]);
  if (day === undefined) return between([year, month - 1, 1], [year, month, 1]);
  return between([year, month - 1, day], [year, month - 1, day + 1]);
}

type Midnight = [year: number, monthIndex: number, day: number];

function between(first: Midnight, next: Midnight): TimeRange {
  return { fromMs: new Date(...first).getTime(), toMs: new Date(...next).getTime() - 1 };
}

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const COUNTS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  "a few": 3,
  "a couple of": 2,
};
const DAYS_OF = { day: 1, week: 7, month: 30, year: 365 };

type Groups = Readonly<Record<string, string>>;

/** Words for a time relative to now. Weeks begin on Monday. */
const RELATIVE: readonly { words: string; rangeOf: (now: Date, groups: Groups) => TimeRange }[] = [
  { words: "today|this morning|tonight", rangeOf: (now) => days(now, 0, 1) },
  { words: "yesterday|last night", rangeOf: (now) => days(now, -1, 1) },
  { words: "this week", rangeOf: (now) => days(now, monday(now), 7) },
  { words: "last week", rangeOf: (now) => days(now, monday(now) - 7, 7) },
  { words: "(?:last|past) weekend", rangeOf: (now) => days(now, monday(now) - 2, 2) },
  { words: "this month", rangeOf: (now) => months(now, 0) },
  { words: "last month", rangeOf: (now) => months(now, -1) },
  { words: "this year", rangeOf: (now) => rangeOf(dateOf(now.getFullYear())) },
  { words: "last year", rangeOf: (now) => rangeOf(dateOf(now.getFullYear() - 1)) },
  {
    words: "(?:last|on) (?<weekday>sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)day",
    rangeOf: (now, { weekday }) => days(now, -((now.getDay() - WEEKDAYS.indexOf(weekday!.slice(0, 3)) + 6) % 7) - 1, 1),
  },
  {
    words: "(?<count>\\d{1,3}|an?|one|two|three|four|five|six|a few|a couple of) (?<unit>day|week|month|year)s? ago",
    rangeOf: (now, { count, unit }) => {
      const length = DAYS_OF[unit as keyof typeof DAYS_OF];
      const ago = (COUNTS[count!] ?? Number(count)) * length;
      return days(now, -ago - Math.floor(length / 2), length);
    },
  },
];

const RELATIVE_IN_TEXT = RELATIVE.map(({ words, rangeOf }) => ({
  // "today" in `src/today.ts` is not a time.
  pattern: new RegExp(`(?<![./\\\\:@-])\\b(?:${words})\\b(?![./\\\\:@-]\\w)`, "gi"),
  rangeOf,
}));
const RELATIVE_ALONE = RELATIVE.map(({ words, rangeOf }) => ({ pattern: new RegExp(`^(?:${words})$`), rangeOf }));

/**
 * Returns the times that a question names relative to now, such as "yesterday", "last week", "two months ago" and "in May", which
 * is the last May that has begun. Days are those of the local time zone. Each time is returned once, at most 64.
 */
export function relativeTimes(text: string, nowMs: number): TimeRange[] {
  const asked = text.toLowerCase();
  const now = new Date(nowMs);
  const found = new Map<string, TimeRange>();
  const add = (range: TimeRange): void => {
    if (found.size < DATES_MAX) found.set(`${range.fromMs} ${range.toMs}`, range);
  };
  for (const { pattern, rangeOf } of RELATIVE_IN_TEXT) {
    for (const { groups = {} } of asked.matchAll(pattern)) add(rangeOf(now, groups));
  }
  for (const date of namedDates(text)) {
    if (date.year !== undefined || date.month === undefined) continue;
    const range = rangeOf({ ...date, year: now.getFullYear() });
    add(range.fromMs <= nowMs ? range : rangeOf({ ...date, year: now.getFullYear() - 1 }));
  }
  return [...found.values()];
}

/** Returns the times that a question names, with years and without. See `relativeTimes`. */
export function rangesIn(text: string, nowMs: number): TimeRange[] {
  const dated = namedDates(text).flatMap(({ year, ...date }) =>
    year === undefined ? [] : [rangeOf({ ...date, year })],
  );
  return [...relativeTimes(text, nowMs), ...dated];
}

export function withoutTimes(text: string): string {
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, " "), withoutRelativeTimes(text));
}

export function withoutRelativeTimes(text: string): string {
  return RELATIVE_IN_TEXT.reduce((rest, { pattern }) => rest.replace(pattern, " "), text);
}

/** Returns the time if the text names a time and nothing else, such as "yesterday", "last week", "monday" or "3 days ago". */
export function relativeTime(text: string, nowMs: number): TimeRange | undefined {
  const asked = text.trim().toLowerCase().replace(/\s+/g, " ");
  for (const words of [asked, `on ${asked}`]) {
    for (const { pattern, rangeOf } of RELATIVE_ALONE) {
      const match = pattern.exec(words);
      if (match !== null) return rangeOf(new Date(nowMs), match.groups ?? {});
    }
  }
  return undefined;
}

function dateOf(year: number, month?: number): NamedDate & { year: number } {
  return { year, month, day: undefined };
}

function days(now: Date, first: number, count: number): TimeRange {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate() + first];
  return between([year, month, day], [year, month, day + count]);
}

function months(now: Date, first: number): TimeRange {
  return rangeOf(dateOf(now.getFullYear(), now.getMonth() + first + 1));
}

/** Returns the days from today to the Monday of this week: 0 or less. */
function monday(now: Date): number {
  return -((now.getDay() + 6) % 7);
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function monthOf(text: string | undefined): number | undefined {
  if (text === undefined || /\d/.test(text)) return numberOf(text);
  return MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;
}
