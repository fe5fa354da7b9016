import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import { timeOf } from "../core/times.ts";
import { formatNumber } from "./text.ts";

/** Messages that a command prints unless told otherwise. */
const PAGE_LIMIT_DEFAULT = 50;

/** `--flag N`, a whole number in [min, max], as help says; anything else is refused in the library's words. */
export function wholeNumberOption(flag: string, meaning: string, min: number, max = Number.MAX_SAFE_INTEGER): Option {
  const parse = (text: string): number => wholeNumber(`--${flag}`, /^\d+$/.test(text) ? Number(text) : text, min, max);
  const range =
    max === Number.MAX_SAFE_INTEGER ? `from ${formatNumber(min)}` : `${formatNumber(min)} to ${formatNumber(max)}`;
  return new Option(`--${flag} <n>`, `${meaning}; ${range}`).argParser(parse);
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

/**
 * `--flag 2026-11-01` or `--flag 2026-11-01T14:30`, in Unix milliseconds; in the user's time zone, as all times that are
 * printed, unless it names one.
 *
 * @param edge  What a date alone means: the first or the last moment of the day.
 */
export function timeOption(flag: string, meaning: string, edge: "first" | "last"): Option {
  return new Option(`--${flag} <time>`, meaning).argParser((text: string) => timeOf(`--${flag}`, text, edge));
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
