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
  `\\b${YEAR}\\b`,
].map((pattern) => new RegExp(pattern, "gi"));

/** Returns the days, months and years that a text names in English or in ISO 8601. */
export function namedDates(text: string): NamedDate[] {
  const found: NamedDate[] = [];
  let rest = text;
  for (const pattern of PATTERNS) {
    rest = rest.replace(pattern, (...match) => {
      const { year, month, day } = match.at(-1) as Record<string, string | undefined>;
      found.push({ year: numberOf(year), month: monthOf(month), day: numberOf(day) });
      return " ";
    });
  }
  return found;
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

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function monthOf(text: string | undefined): number | undefined {
  if (text === undefined || /\d/.test(text)) return numberOf(text);
  return MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;
}

const DAY_MS = 86_400_000;
/** Days in which the nearness of an earlier and of a later message falls to 1/e. People tell what happened. */
const BEFORE_DAYS = 3;
const AFTER_DAYS = 10;

/** Returns how near a time is to one of the dates, in [0, 1]. A date without a year is meant in the year that is nearest. */
export function nearness(dates: readonly NamedDate[], timeMs: number): number {
  const year = new Date(timeMs).getUTCFullYear();
  const ranges = dates.flatMap((date) =>
    (date.year === undefined ? [year - 1, year, year + 1] : [date.year]).map((atYear) =>
      rangeOf({ ...date, year: atYear }),
    ),
  );
  return Math.max(
    0,
    ...ranges.map(([from, to]) => {
      if (timeMs < from) return Math.exp((timeMs - from) / DAY_MS / BEFORE_DAYS);
      return timeMs < to ? 1 : Math.exp((to - timeMs) / DAY_MS / AFTER_DAYS);
    }),
  );
}

/** Returns the times from the first up to before the second. */
function rangeOf({ year, month, day }: NamedDate & { year: number }): [fromMs: number, toMs: number] {
  if (month === undefined) return [Date.UTC(year, 0), Date.UTC(year + 1, 0)];
  if (day === undefined) return [Date.UTC(year, month - 1), Date.UTC(year, month)];
  return [Date.UTC(year, month - 1, day), Date.UTC(year, month - 1, day + 1)];
}
