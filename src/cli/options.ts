import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { wholeNumber } from "../core/options.ts";
import { formatNumber } from "./text.ts";

/** Messages that a command prints unless told otherwise. */
const PAGE_LIMIT_DEFAULT = 50;

/** `--flag N`, a whole number in [min, max]; anything else is refused in the library's words. */
export function wholeNumberOption(flag: string, meaning: string, min: number, max = Number.MAX_SAFE_INTEGER): Option {
  const parse = (text: string): number => wholeNumber(`--${flag}`, /^\d+$/.test(text) ? Number(text) : text, min, max);
  return new Option(`--${flag} <n>`, meaning).argParser(parse);
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
