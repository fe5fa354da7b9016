import { visibleText } from "../../core/markup.ts";

/** Writes `12,345`. `toLocaleString` takes 10 ms to load its tables. */
export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Writes `1 message` or `2 messages`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** Says how many of a session's files have changed. */
export function changedNote(count: number): string {
  return `${formatCount(count, "file")} that this session touched ${count === 1 ? "has" : "have"} changed since`;
}

/** Writes `2026-01-15 14:03` in local time. Old stores may hold times that `Date` cannot. */
export function formatTime(unixMs: number): string {
  const time = new Date(unixMs);
  if (Number.isNaN(time.getTime())) return "unknown time";
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const AGE_MS_MAX = 30 * DAY_MS;

/** Writes `5 min ago`, `3 h ago` or `12 days ago`; after a month, and for future times, the date. */
export function formatAge(unixMs: number, nowMs: number): string {
  const age = nowMs - unixMs;
  if (!(age >= -MINUTE_MS && age < AGE_MS_MAX)) return formatTime(unixMs).split(" ")[0]!;
  if (age < MINUTE_MS) return "just now";
  if (age < HOUR_MS) return `${Math.floor(age / MINUTE_MS)} min ago`;
  if (age < DAY_MS) return `${Math.floor(age / HOUR_MS)} h ago`;
  return `${formatCount(Math.floor(age / DAY_MS), "day")} ago`;
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Writes `today 14:03`, `yesterday 14:03` or `Friday 14:03` in local time. Before the last seven days, it writes the date. */
export function formatMoment(unixMs: number, nowMs: number): string {
  const [date, time] = formatTime(unixMs).split(" ") as [string, string];
  const noonOf = (ms: number): number => new Date(ms).setHours(12, 0, 0, 0);
  const days = Math.round((noonOf(nowMs) - noonOf(unixMs)) / DAY_MS); // a day may have 23 or 25 hours
  if (!(days >= 0 && days < WEEKDAYS.length)) return `${date} ${time}`;
  const day = ["today", "yesterday"][days] ?? WEEKDAYS[new Date(unixMs).getDay()]!;
  return `${day} ${time}`;
}

/** Writes `12.5 MB`, in powers of 1,000. */
export function formatBytes(byteLength: number): string {
  if (byteLength < 1_000) return formatCount(byteLength, "byte");
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(byteLength) / 3), units.length);
  return `${(byteLength / 1_000 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** Returns the text on one line, as a terminal shows it. */
export function oneLine(text: string): string {
  return visibleText(text.replace(/\r?\n/g, "↵").replaceAll("\t", " "));
}
