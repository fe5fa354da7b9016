import { StoreError } from "./errors.ts";
import { TIME_MS_MAX } from "./limits.ts";
import { relativeTime } from "./named-times.ts";

const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
const AGO = /^(\d{1,5})([hdw])$/;
const HOUR_MS = 3_600_000;
const UNIT_MS = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };
const LAST_OF_DAY = "23:59:59.999";

/**
 * Converts `2026-11-01` or `2026-11-01T14:30` to Unix milliseconds. A time without a zone is in the user's time zone. `36h`, `7d`
 * and `2w` mean that long ago. `yesterday`, `last week`, `monday` and `3 days ago` are read by `relativeTime`.
 *
 * @param option  The name of the option, for the error.
 * @param edge  Says whether a day or a week means its first or its last millisecond.
 * @throws {StoreError} `OPTION_INVALID` for any other text.
 */
export function timeOf(option: string, text: string, edge: "first" | "last"): number {
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  const relative = relativeTime(text, Date.now());
  if (relative !== undefined) return edge === "first" ? relative.fromMs : relative.toMs;
  const [, date, time = edge === "first" ? "00:00" : LAST_OF_DAY, zone = ""] = TIME.exec(text) ?? [];
  // Date.parse reads February 30 as March 2.
  const isDay = date !== undefined && new Date(`${date}T00:00Z`).toJSON()?.startsWith(date);
  const unixMs = isDay ? Date.parse(`${date}T${time}${zone}`) : Number.NaN;
  if (!Number.isNaN(unixMs)) return unixMs;
  const expected =
    "a date or a time such as 2026-11-01, 2026-11-01T14:30, 2026-11-01T14:30:00Z, yesterday, last week, or 7d for seven days ago";
  throw new StoreError("OPTION_INVALID", { option, expected, actual: text });
}

/** Returns the range that a date or a time names: the whole day, or a moment. @see timeOf */
export function timeRangeOf(option: string, text: string): { fromMs: number; toMs: number } {
  return { fromMs: timeOf(option, text, "first"), toMs: timeOf(option, text, "last") };
}

/** Formats a time to the minute: `2026-11-01T14:30Z`. Returns "" for a time that Date cannot hold. */
export function minuteOf(unixMs: number): string {
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 16)}Z`;
}

/** Returns the nearest time that `Date` can hold. A row that came from another store may have any integer. */
export function heldTime(unixMs: number): number {
  return Math.min(TIME_MS_MAX, Math.max(-TIME_MS_MAX, unixMs));
}
