import type { SessionOption } from "../../src/core/options.ts";

/** The last column of the page of options. The type requires a meaning for each option. */
export const OPTION_MEANINGS: Record<SessionOption, string> = {
  hotSize:
    "The newest messages that stay out of the forest until the session is idle. Contexts show them verbatim, unless they exceed `hotTokensMax`.",
  overlap:
    "Messages before the newest `hotSize` that contexts also show verbatim, although they are in the forest, unless they exceed `hotTokensMax`. Must be at most `evictBatch`.",
  evictBatch:
    "The frontier advances by this many messages at a time. With a larger number, the prefix of contexts changes less often.",
  hotTokensMax:
    "The most tokens of verbatim messages. When they have more, the frontier advances, even if the messages are few. Choose at most half of the `tokensMax` that you render with. Otherwise the prefix of contexts changes more often.",
  maxThemes: "The most themes that a context shows.",
  openClustersMax: "The most clusters that may still take members. Placement compares each step with all of them.",
  summaryTokensMax: "The most tokens of one summary of a cluster. It is at most a quarter as long as its sources.",
  resolveTokensMin:
    "Summaries are due when this many tokens have left the window that no summary covers. One call makes those of all clusters. A summarizer that cannot share calls waits until one cluster has as many. Until then contexts quote the messages.",
  strategy: "How the session becomes a context, unless a call names another strategy.",
  contextTokensMax:
    "The most tokens of a context, unless a call gives another budget. The summaries of `flat` and `sandwich` are made for this budget.",
  flatTrigger:
    "A `flat` context counts as full when it fills this share of the budget. A summary is then due. The pinned messages are subtracted from the budget before any share is taken.",
  flatTail:
    "The share of the budget for the newest steps, which `flat` leaves verbatim. Must be at least 0.2 less than `flatTrigger`.",
  sandwichTrigger: "A `sandwich` context counts as full when it fills this share of the budget. A summary is then due.",
  sandwichHead: "The share of the budget for the first steps, which `sandwich` leaves verbatim.",
  sandwichTail:
    "The share of the budget for the newest steps, which `sandwich` leaves verbatim. Together with `sandwichHead`, it must be at least 0.2 less than `sandwichTrigger`.",
  sandwichMessagesMin: "`sandwich` summarizes at least this many messages between head and tail.",
  messageTokensMax:
    "The most tokens of a recent message in a context. In a longer message, tool results and arguments of calls are shortened; texts are not.",
  oldMessageTokensMax: "The most tokens of an old message in the window. Must be at most `messageTokensMax`.",
  recentTokensMax:
    "Messages outside the forest count as recent, and so do those within this many tokens before them. Over as many tokens again, the limit falls linearly from `messageTokensMax` to `oldMessageTokensMax`.",
};
