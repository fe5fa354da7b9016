import { StoreError } from "./errors.ts";

/** The ways to turn a session into a context. See src/context/strategy.ts. */
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
      "The newest messages that stay out of the forest until the session is idle. Contexts show them verbatim, unless they exceed `hotTokensMax`.",
  },
  overlap: {
    default: 4,
    min: 0,
    max: 1_000,
    unit: "messages",
    meaning:
      "Messages before the newest `hotSize` that contexts also show verbatim, although they are in the forest, unless they exceed `hotTokensMax`. At most `evictBatch`.",
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
      "The most tokens of verbatim messages. With more, the frontier moves, even if the messages are few. Choose at most half of the `tokensMax` that you render with. Otherwise the prefix of contexts changes more often.",
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
    meaning: "The most clusters that may still take members. Placement compares each step with all of them.",
  },
  summaryTokensMax: {
    default: 400,
    min: 20,
    max: 100_000,
    unit: "tokens",
    meaning:
      "The most tokens of one theme's summary. The limit is lower if `maxThemes` such summaries do not fit the budget.",
  },
  resolveTokensMin: {
    default: 600,
    min: 1,
    max: 10_000_000,
    unit: "tokens",
    meaning:
      "The unsummarized tokens of a theme from which its first summary is due. A call's instructions and reply take about as many. A later summary is due at twice the sum of this and the theme's summaries. With a local summarizer, a third of this is enough. Until a summary is due, contexts show the messages verbatim if they fit.",
  },
  strategy: {
    default: "union-find",
    words: STRATEGIES,
    meaning: "How the session becomes a context, unless a call names another strategy.",
  },
  contextTokensMax: {
    default: 16_000,
    min: 1,
    max: 100_000_000,
    unit: "tokens",
    meaning:
      "The most tokens of a context, unless a call gives another budget. The summaries of `flat` and `sandwich` are made for this budget.",
  },
  flatTrigger: {
    default: 0.7,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning:
      "The share of the budget from which a `flat` context counts as full, so that a summary is due. All shares are of the budget without the pinned messages.",
  },
  flatTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning:
      "The share of the budget for the newest steps, which `flat` leaves verbatim. At least 0.2 less than `flatTrigger`.",
  },
  sandwichTrigger: {
    default: 0.85,
    min: 0.01,
    max: 1,
    unit: "share",
    meaning: "The share of the budget from which a `sandwich` context counts as full, so that a summary is due.",
  },
  sandwichHead: {
    default: 0.2,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning: "The share of the budget for the first steps, which `sandwich` leaves verbatim.",
  },
  sandwichTail: {
    default: 0.3,
    min: 0,
    max: 0.99,
    unit: "share",
    meaning:
      "The share of the budget for the newest steps, which `sandwich` leaves verbatim. Together with `sandwichHead`, at least 0.2 less than `sandwichTrigger`.",
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
      "The most tokens of a recent message in a context. In a longer one, tool results and arguments of calls are shortened; texts are not.",
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
      "Messages outside the forest count as recent, and so do those within this many tokens before them. Over as many tokens again, the limit falls linearly from `messageTokensMax` to `oldMessageTokensMax`.",
  },
  toolPreviewCharsMax: {
    default: 500,
    min: 40,
    max: 1_000_000,
    unit: "characters",
    meaning: "The most characters (graphemes) that the memory block shows of a long tool result.",
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

/** The options of `store.session`: settings, a project and a title. Each name has 1 to 512 characters. */
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
