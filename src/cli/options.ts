import { InvalidArgumentError, Option } from "commander";
import { messageIdOf } from "../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import { timeOf, timeRangeOf } from "../core/times.ts";
import { projectMeant } from "../session/aids/project-meant.ts";
import type { Store } from "../session/store.ts";
import { formatNumber } from "./screen/text.ts";

const PAGE_LIMIT_DEFAULT = 50;

/** Creates `--flag N` for a whole number in [min, max]. */
export function wholeNumberOption(flag: string, meaning: string, min: number, max = Number.MAX_SAFE_INTEGER): Option {
  const parse = (text: string): number => wholeNumber(`--${flag}`, /^\d+$/.test(text) ? Number(text) : text, min, max);
  const range =
    max === Number.MAX_SAFE_INTEGER ? `from ${formatNumber(min)}` : `${formatNumber(min)} to ${formatNumber(max)}`;
  return new Option(`--${flag} <n>`, `${meaning}; ${range}`).argParser(parse);
}

/** Creates `--flag X`, which may be repeated. Its value is a list. */
export function repeatableOption<T extends string>(flag: string, meaning: string, allowed?: readonly T[]): Option {
  const [, name] = /^(\S+)/.exec(flag)!;
  const parse = (text: string, before: T[] | undefined): T[] => {
    const value = text as T;
    return [...(before ?? []), allowed === undefined ? value : oneOf(`--${name}`, value, allowed)];
  };
  const words = allowed === undefined ? "" : ` (${allowed.join(", ")})`;
  return new Option(`--${flag}`, `${meaning}${words}; may be repeated`).argParser(parse);
}

/**
 * Creates `--flag 2026-11-01`, `--flag 2026-11-01T14:30` or `--flag "last week"`, with a value in Unix milliseconds. A time without
 * a zone is local. A date or a week means its first or last moment, as `edge` says.
 */
export function timeOption(flag: string, meaning: string, edge: "first" | "last"): Option {
  return new Option(`--${flag} <time>`, meaning).argParser((text: string) => timeOf(`--${flag}`, text, edge));
}

/** Creates `--flag 2026-11-01`, whose value is the range of that day, or of that moment. */
export function timeRangeOption(flag: string, meaning: string): Option {
  return new Option(`--${flag} <time>`, meaning).argParser((text: string) => timeRangeOf(`--${flag}`, text));
}

/** Parses `message:17` or `17`. */
export function messageTyped(typed: string): number {
  const id = messageIdOf(typed);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected a message such as message:17.");
}

export interface LeavingOutFlags {
  keepSecrets?: true;
  exclude?: string[];
  excludeProject?: string[];
}

/** The options of commands that read transcripts. */
export const LEAVING_OUT_OPTIONS: readonly Option[] = [
  new Option("--keep-secrets", "store secrets as they are, instead of placeholders"),
  repeatableOption("exclude <path>", "leave out a file or a folder, and work done there"),
  repeatableOption("exclude-project <name>", "leave out a project"),
];

/** Converts the flags to options of the library. */
export function leavingOut({ keepSecrets, exclude = [], excludeProject = [] }: LeavingOutFlags, store: Store) {
  const projects = excludeProject.map((typed) => projectMeant(store, typed));
  return { keepSecrets: keepSecrets === true, exclude: { paths: exclude, projects } };
}

export interface PageOptions {
  limit: number;
  offset: number;
}

export const LIMIT_OPTION = wholeNumberOption("limit", "most messages printed", 0, PAGE_LIMIT_MAX).default(
  PAGE_LIMIT_DEFAULT,
);

export const PAGE_OPTIONS: readonly Option[] = [
  LIMIT_OPTION,
  wholeNumberOption("offset", "messages skipped", 0).default(0),
];

/** The sessions of a page unless `--limit` is given. */
export const SESSIONS_PAGE = 50;

export const SESSIONS_PAGE_OPTIONS: readonly Option[] = [
  wholeNumberOption("limit", "most sessions", 0).default(SESSIONS_PAGE),
  wholeNumberOption("offset", "leave out this many of the newest: the next page", 0).default(0),
];

/** Takes a page from sessions that were read with one more than its limit, and says how to get the next one, if there is one. */
export function pageRead<T>(
  found: readonly T[],
  { limit, offset }: PageOptions,
  filters: string,
): { shown: T[]; more: string | undefined } {
  const more = `There are more sessions: add --offset ${offset + limit}, or give --limit${filters}.`;
  return { shown: found.slice(0, limit), more: found.length > limit ? more : undefined };
}

export function* moreLines(
  { offset }: Pick<PageOptions, "offset">,
  shownCount: number,
  totalCount: number,
): Generator<string> {
  const end = offset + shownCount;
  if (end < totalCount) yield `… ${formatNumber(totalCount - end)} more; continue with --offset ${end}`;
}
