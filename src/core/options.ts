import { StoreError } from "./errors.ts";

/** The ways in which a session becomes a context. See src/context/strategy.ts. */
export const STRATEGIES = ["union-find", "sandwich", "flat", "full"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/**
 * The options of a session, which are stored with it. The checks, the types and the page of options come from this table. An
 * option is a whole number, a share (any number in its range), or one of a list of words.
 */
export const SESSION_OPTIONS = {
  hotSize: {
    default: 30,
    min: 1,
    max: 10_000,
    unit: "messages",
    meaning:
      "The newest messages that stay out of the forest until the session is idle. A context shows them verbatim, unless they exceed `hotTokensMax`.",
  },
  overlap: {
    default: 4,
    min: 0,
    max: 1_000,
    unit: "messages",
    meaning:
      "Messages before these that also stay verbatim, although they are in the forest, unless they exceed `hotTokensMax`. At most `evictBatch`.",
  },
  evictBatch: {
    default: 24,
    min: 1,
    max: 1_000,
    unit: "messages",
    meaning: "The messages by which the frontier advances at a time. A larger number keeps prompt prefixes longer.",
  },
  hotTokensMax: {
    default: 8_000,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "The most tokens of verbatim messages. Above this the frontier moves, however few the messages are. Choose at most half of the `tokensMax` that you render with, or contexts lose their prefix more often.",
  },
  maxThemes: {
    default: 10,
    min: 1,
    max: 100,
    unit: "themes",
    meaning: "The most themes that a context shows.",
  },
  openClustersMax: {
    default: 64,
    min: 1,
    max: 1_000,
    unit: "clusters",
    meaning: "The clusters that may still take members. Placement compares each step with all of them.",
  },
  summaryTokensMax: {
    default: 400,
    min: 20,
    max: 100_000,
    unit: "tokens",
    meaning:
      "The most tokens of one theme's summary. It gets fewer if the budget has no room for `maxThemes` such summaries.",
  },
  resolveTokensMin: {
    default: 600,
    min: 1,
    max: 10_000_000,
    unit: "tokens",
    meaning:
      "The fewest tokens without a summary that are worth a call: instructions and reply take about as many. A new version of a summary waits for twice this, plus what it repeats. A local summarizer, which costs nothing, needs a third of this. Fewer tokens are shown as they are.",
  },
  strategy: {
    default: "union-find",
    words: STRATEGIES,
    meaning: "How the session becomes a context, unless a call says otherwise.",
  },
  contextTokensMax: {
    default: 16_000,
    min: 1,
    max: 100_000_000,
    unit: "tokens",
    meaning: "The most tokens of a context, unless a call says otherwise. `flat` and `sandwich` compact for this.",
  },
  flatTrigger: {
    default: 0.7,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning: "A `flat` context that is fuller is compacted. Shares are of the budget without the pinned messages.",
  },
  flatTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning: "The share of the newest steps that `flat` then leaves verbatim. At least 0.2 less than `flatTrigger`.",
  },
  sandwichTrigger: {
    default: 0.85,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning: "A `sandwich` context that is fuller is compacted.",
  },
  sandwichHead: {
    default: 0.2,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning: "The share of the first steps that `sandwich` leaves verbatim.",
  },
  sandwichTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning:
      "The share of the newest steps that `sandwich` leaves verbatim. Together with `sandwichHead` at least 0.2 less than `sandwichTrigger`.",
  },
  sandwichMessagesMin: {
    default: 4,
    min: 1,
    max: 10_000,
    unit: "messages",
    meaning: "The fewest messages between head and tail that `sandwich` summarizes.",
  },
  messageTokensMax: {
    default: 10_000,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "The most tokens of a recent message in a context. In a longer one, tool results and arguments of calls are cut down to what matters.",
  },
  oldMessageTokensMax: {
    default: 2_500,
    min: 100,
    max: 100_000_000,
    unit: "tokens",
    meaning: "The most tokens of an old message in the window. At most `messageTokensMax`.",
  },
  recentTokensMax: {
    default: 4_000,
    min: 0,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "How far back messages count as recent: all that are not yet in the forest, and this many tokens before them. Over as many tokens again, the limit falls evenly from `messageTokensMax` to `oldMessageTokensMax`.",
  },
  toolPreviewCharsMax: {
    default: 500,
    min: 40,
    max: 1_000_000,
    unit: "characters",
    meaning: "The most characters, as a reader counts them, that the memory block shows of a long tool result.",
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

/** Checks a word by hand, for code that must not load zod. @throws {StoreError} `OPTION_INVALID`. */
export function oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new StoreError("OPTION_INVALID", { option, expected: `one of ${allowed.join(", ")}`, actual: value });
}

/** Checks a whole number by hand, for code that must not load zod or that runs on each append. @throws {StoreError} `OPTION_INVALID`. */
export function wholeNumber(option: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`;
  throw new StoreError("OPTION_INVALID", { option, expected, actual: value });
}
