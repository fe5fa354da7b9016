import { StoreError } from "./errors.ts";

/**
 * Options of a session, kept with it. One table: name, default, range and meaning come from here into the checks, the
 * types and the README.
 */
export const SESSION_OPTIONS = {
  hotSize: {
    default: 30,
    min: 1,
    max: 10_000,
    unit: "messages",
    meaning:
      "newest messages that stay out of the forest, until the session rests; as many stay verbatim whatever happens, unless `hotTokensMax` drives them out",
  },
  overlap: {
    default: 4,
    min: 0,
    max: 1_000,
    unit: "messages",
    meaning:
      "messages before those that stay verbatim although they are in the forest, unless `hotTokensMax` drives them out; at most `evictBatch`",
  },
  evictBatch: {
    default: 24,
    min: 1,
    max: 1_000,
    unit: "messages",
    meaning: "messages by which the frontier advances at a time; larger keeps prompt prefixes longer",
  },
  hotTokensMax: {
    default: 8_000,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "most tokens of verbatim messages before the frontier moves, however few they are; at most half of the `tokensMax` you render with, or contexts lose their prefix more often",
  },
  maxThemes: {
    default: 10,
    min: 1,
    max: 100,
    unit: "themes",
    meaning: "units that a context shows of the cold forest",
  },
  openClustersMax: {
    default: 64,
    min: 1,
    max: 1_000,
    unit: "clusters",
    meaning: "clusters that may still take members; placement compares with each",
  },
  summaryTokensMax: {
    default: 400,
    min: 20,
    max: 100_000,
    unit: "tokens",
    meaning: "most tokens of one theme's summary",
  },
  resolveTokensMin: {
    default: 200,
    min: 1,
    max: 10_000_000,
    unit: "tokens",
    meaning: "tokens without a summary from which a theme is worth one; fewer are shown as they are",
  },
} as const;

/** What `recall` shows unless told otherwise: hits, and messages before and after each. */
export const RECALL_LIMIT_DEFAULT = 10;
export const RECALL_NEIGHBORS_DEFAULT = 1;

export type SessionOption = keyof typeof SESSION_OPTIONS;
export type SessionSettings = Record<SessionOption, number>;

/** Options of `store.session`: any of the table, and what names the session. */
export interface SessionOptions extends Partial<SessionSettings> {
  project?: string;
  title?: string;
}

/**
 * The settings of a session: those given, over those stored, over the defaults.
 *
 * @throws {StoreError} `OPTION_INVALID` for a name that is not in the table, a value out of its range, or values that
 *   cannot go together.
 */
export function sessionSettings(given: Partial<SessionSettings>, stored?: SessionSettings): SessionSettings {
  const settings = {} as SessionSettings;
  for (const [option, { default: preset, min, max }] of Object.entries(SESSION_OPTIONS)) {
    const name = option as SessionOption;
    settings[name] = wholeNumber(name, given[name] ?? stored?.[name] ?? preset, min, max);
  }
  for (const name of Object.keys(given)) {
    if (name in SESSION_OPTIONS) continue;
    const expected = `one of ${Object.keys(SESSION_OPTIONS).join(", ")}`;
    throw new StoreError("OPTION_INVALID", { option: "a session option", expected, actual: name });
  }
  if (settings.overlap > settings.evictBatch) {
    const expected = `at most evictBatch (${settings.evictBatch}), so that each batch outlives the overlap`;
    throw new StoreError("OPTION_INVALID", { option: "overlap", expected, actual: settings.overlap });
  }
  return settings;
}

/** @throws {StoreError} `OPTION_INVALID` unless `value` is one of `allowed`. */
export function oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new StoreError("OPTION_INVALID", { option, expected: `one of ${allowed.join(", ")}`, actual: value });
}

/** @throws {StoreError} `OPTION_INVALID` unless `value` is one of the two. */
export function trueOrFalse(option: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new StoreError("OPTION_INVALID", { option, expected: "true or false", actual: value });
}

/** @throws {StoreError} `OPTION_INVALID` unless `value` is a whole number in [min, max]. */
export function wholeNumber(option: string, value: unknown, min: number, max: number): number {
  // By hand: this stands on the path of every append and render, and building a schema would cost as much as a row.
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`;
  throw new StoreError("OPTION_INVALID", { option, expected, actual: value });
}
