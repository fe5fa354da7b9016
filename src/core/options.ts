import { StoreError } from "./errors.ts";

export const STRATEGIES = ["union-find", "sandwich", "flat", "full"] as const;
export type Strategy = (typeof STRATEGIES)[number];
/** The strategies that replace a part of the conversation by one summary. */
export type SpanStrategy = Extract<Strategy, "flat" | "sandwich">;

/**
 * The options of a session. README.md says what each option means. An option is a whole number, a share (any number in its
 * range), or one of a list of words.
 */
export const SESSION_OPTIONS = {
  hotSize: { default: 30, min: 1, max: 10_000, unit: "messages" },
  overlap: { default: 4, min: 0, max: 1_000, unit: "messages" },
  evictBatch: { default: 24, min: 1, max: 1_000, unit: "messages" },
  hotTokensMax: { default: 8_000, min: 100, max: 100_000_000, unit: "tokens" },
  maxThemes: { default: 10, min: 1, max: 100, unit: "themes" },
  openClustersMax: { default: 64, min: 1, max: 1_000, unit: "clusters" },
  summaryTokensMax: { default: 400, min: 20, max: 100_000, unit: "tokens" },
  resolveTokensMin: { default: 2_000, min: 1, max: 10_000_000, unit: "tokens" },
  strategy: { default: "union-find", words: STRATEGIES },
  contextTokensMax: { default: 16_000, min: 1, max: 100_000_000, unit: "tokens" },
  flatTrigger: { default: 0.7, min: 0.01, max: 1, unit: "share" },
  flatTail: { default: 0.3, min: 0, max: 0.99, unit: "share" },
  sandwichTrigger: { default: 0.85, min: 0.01, max: 1, unit: "share" },
  sandwichHead: { default: 0.2, min: 0, max: 0.99, unit: "share" },
  sandwichTail: { default: 0.3, min: 0, max: 0.99, unit: "share" },
  sandwichMessagesMin: { default: 4, min: 1, max: 10_000, unit: "messages" },
  messageTokensMax: { default: 10_000, min: 100, max: 100_000_000, unit: "tokens" },
  oldMessageTokensMax: { default: 2_500, min: 100, max: 100_000_000, unit: "tokens" },
  recentTokensMax: { default: 4_000, min: 0, max: 100_000_000, unit: "tokens" },
} as const;

/** The hits that `recall` returns by default, and the messages before and after each hit. */
export const RECALL_LIMIT_DEFAULT = 10;
/** The most hits under a token limit, unless a limit of hits is given. */
export const RECALL_FILLED_MAX = 30;
export const RECALL_NEIGHBORS_DEFAULT = 1;

/** Hits with a smaller confidence are probably about something else. */
export const RECALL_CONFIDENCE_MIN = 0.1;

/** If nothing is near, so many hits are enough to see it, unless the caller asks for more. */
export const RECALL_DOUBTED_MAX = 3;

export type SessionOption = keyof typeof SESSION_OPTIONS;
export type SessionSettings = {
  [O in SessionOption]: (typeof SESSION_OPTIONS)[O] extends { words: readonly (infer W)[] } ? W : number;
};

export const DEFAULT_SETTINGS = Object.fromEntries(
  Object.entries(SESSION_OPTIONS).map(([name, option]) => [name, option.default]),
) as SessionSettings;

/** Says when a strategy summarizes, and what it keeps word for word. Shares are of the budget without the pinned messages. */
export interface SpanRule {
  /** A context counts as full from this share on. */
  trigger: number;
  /** The share for the first steps. */
  top: number;
  /** The share for the newest steps. */
  tail: number;
  /** A summary must cover at least this many messages. */
  messagesMin: number;
}

/** `flat` is a sandwich without a top. */
export function spanRuleOf(strategy: SpanStrategy, settings: SessionSettings): SpanRule {
  if (strategy === "flat") return { trigger: settings.flatTrigger, top: 0, tail: settings.flatTail, messagesMin: 1 };
  const { sandwichTrigger: trigger, sandwichHead: top, sandwichTail: tail, sandwichMessagesMin } = settings;
  return { trigger, top, tail, messagesMin: sandwichMessagesMin };
}

/** The options of `store.session`: settings, a project and a title. A project or title has 1 to 512 characters. */
export interface SessionOptions extends Partial<SessionSettings> {
  project?: string;
  title?: string;
}

/** Checks a word by hand, for code that must not load zod. */
export function oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new StoreError("OPTION_INVALID", { option, expected: `one of ${allowed.join(", ")}`, actual: value });
}

export function textValue(option: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new StoreError("OPTION_INVALID", { option, expected: "text", actual: value });
}

/** Call this with a value that is refused. If it is a promise that rejects, its error would end the process. */
export function ignoreRejection(refused: unknown): void {
  if (refused instanceof Promise) refused.catch(() => {});
}

/** Checks a whole number by hand, for code that must not load zod or that runs on each append. */
export function wholeNumber(option: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  ignoreRejection(value);
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`;
  throw new StoreError("OPTION_INVALID", { option, expected, actual: value });
}
