import type { SessionOption } from "../../src/core/options.ts";

/** The last column of the page of options. The type requires a meaning for each option. */
export const OPTION_MEANINGS: Record<SessionOption, string> = {
  hotSize:
    "The newest messages that stay out of the forest until the session is idle. Contexts show them verbatim, unless they exceed `hotTokensMax`.",
  overlap:
    "Messages before the newest `hotSize` that contexts also show verbatim, although they are in the forest, unless they exceed `hotTokensMax`. At most `evictBatch`.",
  evictBatch: "The messages by which the frontier advances at a time. A larger number keeps prompt prefixes longer.",
  hotTokensMax:
    "The most tokens of verbatim messages. With more, the frontier moves, even if the messages are few. Choose at most half of the `tokensMax` that you render with. Otherwise the prefix of contexts changes more often.",
  maxThemes: "The most themes that a context shows.",
  openClustersMax: "The most clusters that may still take members. Placement compares each step with all of them.",
  summaryTokensMax: "The most tokens of one summary of a cluster. It is at most half as long as its sources.",
  resolveTokensMin:
    "The tokens of an open cluster that have left the window since its last summary, from which the next one is due. A settled cluster is due with fewer. With Gemini, due clusters share a call as soon as they have three times this. Until then contexts quote the messages.",
  strategy: "How the session becomes a context, unless a call names another strategy.",
  contextTokensMax:
    "The most tokens of a context, unless a call gives another budget. The summaries of `flat` and `sandwich` are made for this budget.",
  flatTrigger:
    "The share of the budget from which a `flat` context counts as full, so that a summary is due. All shares are of the budget without the pinned messages.",
  flatTail:
    "The share of the budget for the newest steps, which `flat` leaves verbatim. At least 0.2 less than `flatTrigger`.",
  sandwichTrigger: "The share of the budget from which a `sandwich` context counts as full, so that a summary is due.",
  sandwichHead: "The share of the budget for the first steps, which `sandwich` leaves verbatim.",
  sandwichTail:
    "The share of the budget for the newest steps, which `sandwich` leaves verbatim. Together with `sandwichHead`, at least 0.2 less than `sandwichTrigger`.",
  sandwichMessagesMin: "The fewest messages between head and tail that `sandwich` summarizes.",
  messageTokensMax:
    "The most tokens of a recent message in a context. In a longer one, tool results and arguments of calls are shortened; texts are not.",
  oldMessageTokensMax: "The most tokens of an old message in the window. At most `messageTokensMax`.",
  recentTokensMax:
    "Messages outside the forest count as recent, and so do those within this many tokens before them. Over as many tokens again, the limit falls linearly from `messageTokensMax` to `oldMessageTokensMax`.",
};
