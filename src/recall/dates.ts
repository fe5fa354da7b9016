/** A day, a month or a year that a query names, in UTC. Months count from 1. */
export interface NamedDate {
  year: number | undefined;
  month: number | undefined;
  day: number | undefined;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "((?:19|20)\\d{2})";
const ISO = new RegExp(`\\b${YEAR}-(\\d{2})(?:-(\\d{2}))?\\b`, "g");
const DAY_MONTH = new RegExp(`\\b${DAY}\\s+(?:of\\s+)?${MONTH}\\b\\.?(?:,?\\s+${YEAR}\\b)?`, "gi");
const MONTH_DAY = new RegExp(`\\b${MONTH}\\.?\\s+${DAY}\\b(?:,?\\s+${YEAR}\\b)?`, "gi");
const MONTH_YEAR = new RegExp(`\\b${MONTH}\\.?,?\\s+(?:of\\s+)?${YEAR}\\b`, "gi");
/** "May" and "march" are also verbs, so they need a day or a year beside them. */
const MONTH_ALONE = new RegExp(`\\b(?!may\\b|mar(?:ch)?\\b)${MONTH}\\b`, "gi");

/** Returns the days, months and years that a text names in English or in ISO 8601. Each part of the text counts once. */
export function namedDates(text: string): NamedDate[] {
  const found: NamedDate[] = [];
  let rest = text;
  const take = (pattern: RegExp, dateOf: (groups: (string | undefined)[]) => NamedDate) => {
    rest = rest.replace(pattern, (_, ...groups: (string | undefined)[]) => {
      found.push(dateOf(groups));
      return " ";
    });
  };
  take(ISO, ([year, month, day]) => ({ year: number(year), month: number(month), day: number(day) }));
  take(DAY_MONTH, ([day, month, year]) => ({ year: number(year), month: monthOf(month!), day: number(day) }));
  take(MONTH_DAY, ([month, day, year]) => ({ year: number(year), month: monthOf(month!), day: number(day) }));
  take(MONTH_YEAR, ([month, year]) => ({ year: number(year), month: monthOf(month!), day: undefined }));
  take(MONTH_ALONE, ([month]) => ({ year: undefined, month: monthOf(month!), day: undefined }));
  take(new RegExp(`\\b${YEAR}\\b`, "g"), ([year]) => ({ year: number(year), month: undefined, day: undefined }));
  return found;
}

/** Returns how exactly the best date names a time: 1 for the day, 2/3 for the month, 1/3 for the year, 0 if no date does. */
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

function number(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function monthOf(name: string): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}
