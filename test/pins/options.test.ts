import { expect, test } from "vitest";
import { EXPAND_LIMIT_DEFAULT, RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../src/core/limits.ts";
import { RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT, SESSION_OPTIONS } from "../../src/core/options.ts";
import { sessionSettings } from "../../src/core/settings.ts";
import { RESOLVE_CONCURRENCY } from "../../src/summaries/resolve.ts";

// What a session does for those who say nothing. A change here changes every context there is.

test("options of a session: default, least and most", () => {
  const table = Object.entries(SESSION_OPTIONS).map(([name, option]) =>
    "words" in option
      ? [name, option.default, ...option.words]
      : [name, option.default, option.min, option.max, option.unit],
  );
  expect(table).toEqual([
    ["hotSize", 30, 1, 10_000, "messages"],
    ["overlap", 4, 0, 1_000, "messages"],
    ["evictBatch", 24, 1, 1_000, "messages"],
    ["hotTokensMax", 8_000, 100, 100_000_000, "tokens"],
    ["maxThemes", 10, 1, 100, "themes"],
    ["openClustersMax", 64, 1, 1_000, "clusters"],
    ["summaryTokensMax", 400, 20, 100_000, "tokens"],
    ["resolveTokensMin", 2_000, 1, 10_000_000, "tokens"],
    ["strategy", "union-find", "union-find", "sandwich", "flat", "full"],
    ["contextTokensMax", 16_000, 1, 100_000_000, "tokens"],
    ["flatTrigger", 0.7, 0.01, 1, "share"],
    ["flatTail", 0.3, 0, 0.99, "share"],
    ["sandwichTrigger", 0.85, 0.01, 1, "share"],
    ["sandwichHead", 0.2, 0, 0.99, "share"],
    ["sandwichTail", 0.3, 0, 0.99, "share"],
    ["sandwichMessagesMin", 4, 1, 10_000, "messages"],
    ["messageTokensMax", 10_000, 100, 100_000_000, "tokens"],
    ["oldMessageTokensMax", 2_500, 100, 100_000_000, "tokens"],
    ["recentTokensMax", 4_000, 0, 100_000_000, "tokens"],
  ]);
  expect(sessionSettings({})).toEqual(Object.fromEntries(table.map(([name, value]) => [name, value])));
});

test("options of single calls", () => {
  expect({ EXPAND_LIMIT_DEFAULT, RESOLVE_CONCURRENCY }).toEqual({
    EXPAND_LIMIT_DEFAULT: 50,
    RESOLVE_CONCURRENCY: 8,
  });
});

test("options of recall: default and most", () => {
  expect([RECALL_LIMIT_DEFAULT, RECALL_LIMIT_MAX, RECALL_NEIGHBORS_DEFAULT, RECALL_NEIGHBORS_MAX]).toEqual([
    10, 1_000, 1, 10,
  ]);
});
