import { StoreError } from "./errors.ts";

const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
const LAST_OF_DAY = "23:59:59.999";

/**
 * `2026-11-01` or `2026-11-01T14:30` in Unix milliseconds; in the user's time zone unless it names one.
 *
 * @param option  What it is called where it was given.
 * @param edge  What a date alone means: the first or the last moment of the day.
 * @throws {StoreError} `OPTION_INVALID` for anything else.
 */
export function timeOf(option: string, text: string, edge: "first" | "last"): number {
  const [, date, time = edge === "first" ? "00:00" : LAST_OF_DAY, zone = ""] = TIME.exec(text) ?? [];
  // A day that the month does not have would become one of the next.
  const isDay = date !== undefined && new Date(`${date}T00:00Z`).toJSON()?.startsWith(date);
  const unixMs = isDay ? Date.parse(`${date}T${time}${zone}`) : Number.NaN;
  if (!Number.isNaN(unixMs)) return unixMs;
  const expected = "a date or a time such as 2026-11-01, 2026-11-01T14:30 or 2026-11-01T14:30:00Z";
  throw new StoreError("OPTION_INVALID", { option, expected, actual: text });
}

/** `2026-11-01T14:30Z`, to the minute; "" for a time that is past all calendars. */
export function minuteOf(unixMs: number): string {
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 16)}Z`;
}
