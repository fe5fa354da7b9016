import { Option } from "commander";
import { StoreError } from "../core/errors.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import { formatNumber } from "./text.ts";

/** Messages that a command prints unless told otherwise. */
const PAGE_LIMIT_DEFAULT = 50;

/** `--flag N`, a whole number in [min, max]; anything else is refused in the library's words. */
export function wholeNumberOption(flag: string, meaning: string, min: number, max = Number.MAX_SAFE_INTEGER): Option {
  const parse = (text: string): number => wholeNumber(`--${flag}`, /^\d+$/.test(text) ? Number(text) : text, min, max);
  return new Option(`--${flag} <n>`, meaning).argParser(parse);
}

/** `--flag X`, as often as one likes: the list of what was given. */
export function repeatableOption<T extends string>(flag: string, meaning: string, allowed?: readonly T[]): Option {
  const [, name] = /^(\S+)/.exec(flag)!;
  const parse = (text: string, before: T[] | undefined): T[] => {
    const value = text as T;
    return [...(before ?? []), allowed === undefined ? value : oneOf(`--${name}`, value, allowed)];
  };
  return new Option(`--${flag}`, meaning).argParser(parse);
}

const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
const LAST_OF_DAY = "23:59:59.999";

/**
 * `--flag 2026-11-01` or `--flag 2026-11-01T14:30`, in Unix milliseconds; in the user's time zone, as all times that are
 * printed, unless it names one.
 *
 * @param edge  What a date alone means: the first or the last moment of the day.
 */
export function timeOption(flag: string, meaning: string, edge: "first" | "last"): Option {
  const parse = (text: string): number => {
    const [, date, time = edge === "first" ? "00:00" : LAST_OF_DAY, zone = ""] = TIME.exec(text) ?? [];
    // A day that the month does not have would become one of the next.
    const isDay = date !== undefined && new Date(`${date}T00:00Z`).toJSON()?.startsWith(date);
    const unixMs = isDay ? Date.parse(`${date}T${time}${zone}`) : Number.NaN;
    if (!Number.isNaN(unixMs)) return unixMs;
    const expected = "a date or a time such as 2026-11-01, 2026-11-01T14:30 or 2026-11-01T14:30:00Z";
    throw new StoreError("OPTION_INVALID", { option: `--${flag}`, expected, actual: text });
  };
  return new Option(`--${flag} <time>`, meaning).argParser(parse);
}

/** Which page of a list of messages. */
export interface PageOptions {
  limit: number;
  offset: number;
}

export const PAGE_OPTIONS: readonly Option[] = [
  wholeNumberOption("limit", "most messages printed", 0, PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  wholeNumberOption("offset", "messages passed over", 0).default(0),
];

/** How to get what is left after the page, if anything is. */
export function* restLines({ offset }: PageOptions, shownCount: number, totalCount: number): Generator<string> {
  const end = offset + shownCount;
  if (end < totalCount) yield `… ${formatNumber(totalCount - end)} more; continue with --offset ${end}`;
}
