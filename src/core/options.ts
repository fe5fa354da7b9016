import { StoreError } from "./errors.ts";

/** How a session becomes a context. @see src/context/strategy.ts. */
export const STRATEGIES = ["union-find", "sandwich", "flat", "full"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/**
 * Options of a session, kept with it. One table: name, default, range and meaning come from here into the checks, the
 * types and the README. An option is a whole number, a share (any number in its range), or one of a list of words.
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
    meaning: "most tokens of one theme's summary; fewer where the budget has no room for `maxThemes` such summaries",
  },
  resolveTokensMin: {
    default: 600,
    min: 1,
    max: 10_000_000,
    unit: "tokens",
    meaning:
      "tokens without a summary from which a theme is worth a call: instructions and reply come to about as many; a new version waits for twice this and what it repeats. A third of this where the summarizer is local and costs nothing. Fewer are shown as they are",
  },
  strategy: {
    default: "union-find",
    words: STRATEGIES,
    meaning: "how the session becomes a context, unless a call says otherwise",
  },
  contextTokensMax: {
    default: 16_000,
    min: 1,
    max: 100_000_000,
    unit: "tokens",
    meaning: "most tokens of a context whose call does not say; `flat` and `sandwich` compact for it",
  },
  flatTrigger: {
    default: 0.7,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning: "of what the pinned messages leave of the budget: a `flat` context that is fuller is to be compacted",
  },
  flatTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning: "likewise: the newest steps that `flat` then leaves verbatim; at least 0.2 less than `flatTrigger`",
  },
  sandwichTrigger: {
    default: 0.85,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning: "likewise: a `sandwich` context that is fuller is to be compacted",
  },
  sandwichHead: {
    default: 0.2,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning: "likewise: the first steps that `sandwich` leaves verbatim",
  },
  sandwichTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning:
      "likewise: the newest steps that `sandwich` leaves verbatim; with `sandwichHead` at least 0.2 less than `sandwichTrigger`",
  },
  sandwichMessagesMin: {
    default: 4,
    min: 1,
    max: 10_000,
    unit: "messages",
    meaning: "between the two: with fewer to summarize `sandwich` waits",
  },
  messageTokensMax: {
    default: 10_000,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "most tokens that a recent message may cost in a context; of one that costs more, tool results and arguments of calls are cut down to what matters",
  },
  oldMessageTokensMax: {
    default: 2_500,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning: "the same of an old message that still stands in the window; at most `messageTokensMax`",
  },
  recentTokensMax: {
    default: 4_000,
    min: 0,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "tokens before the newest message in the forest whose messages count as recent, as all after it do; over as many more the limit falls evenly",
  },
  toolPreviewCharsMax: {
    default: 500,
    min: 40,
    max: 1_000_000,
    unit: "characters",
    meaning: "most that the memory block shows of a long tool result, as a reader counts them",
  },
} as const;

/** The hits that `recall` returns by default, and the messages before and after each hit. */
export const RECALL_LIMIT_DEFAULT = 10;
export const RECALL_NEIGHBORS_DEFAULT = 1;

export type SessionOption = keyof typeof SESSION_OPTIONS;
export type SessionSettings = {
  [O in SessionOption]: (typeof SESSION_OPTIONS)[O] extends { words: readonly (infer W)[] } ? W : number;
};

/** The settings of a session that was created without options. */
export const DEFAULT_SETTINGS = Object.fromEntries(
  Object.entries(SESSION_OPTIONS).map(([name, option]) => [name, option.default]),
) as SessionSettings;

/** Options of `store.session`: its settings, and what names it. */
export interface SessionOptions extends Partial<SessionSettings> {
  project?: string;
  title?: string;
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
