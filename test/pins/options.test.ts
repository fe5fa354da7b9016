import { expect, test } from "vitest";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../src/core/limits.ts";
import {
  RECALL_LIMIT_DEFAULT,
  RECALL_NEIGHBORS_DEFAULT,
  SESSION_OPTIONS,
  sessionSettings,
} from "../../src/core/options.ts";
import { EXPAND_LIMIT_DEFAULT } from "../../src/recall/expand.ts";
import { TOKENS_MAX_DEFAULT } from "../../src/session/session.ts";
import { RESOLVE_CONCURRENCY } from "../../src/summaries/resolve.ts";

// What a session does for those who say nothing. A change here changes every context there is.

test("options of a session: default, least and most", () => {
  const table = Object.entries(SESSION_OPTIONS).map(([name, { default: preset, min, max, unit }]) => [
    name,
    preset,
    min,
    max,
    unit,
  ]);
  expect(table).toEqual([
    ["hotSize", 30, 1, 10_000, "messages"],
    ["overlap", 4, 0, 1_000, "messages"],
    ["evictBatch", 24, 1, 1_000, "messages"],
    ["hotTokensMax", 8_000, 100, 100_000_000, "tokens"],
    ["maxThemes", 10, 1, 100, "themes"],
    ["openClustersMax", 64, 1, 1_000, "clusters"],
    ["summaryTokensMax", 400, 20, 100_000, "tokens"],
    ["resolveTokensMin", 200, 1, 10_000_000, "tokens"],
  ]);
  expect(sessionSettings({})).toEqual({
    hotSize: 30,
    overlap: 4,
    evictBatch: 24,
    hotTokensMax: 8_000,
    maxThemes: 10,
    openClustersMax: 64,
    summaryTokensMax: 400,
    resolveTokensMin: 200,
  });
});

test("options of single calls", () => {
  expect({ TOKENS_MAX_DEFAULT, EXPAND_LIMIT_DEFAULT, RESOLVE_CONCURRENCY }).toEqual({
    TOKENS_MAX_DEFAULT: 16_000,
    EXPAND_LIMIT_DEFAULT: 50,
    RESOLVE_CONCURRENCY: 4,
  });
});

test("options of recall: default and most", () => {
  expect([RECALL_LIMIT_DEFAULT, RECALL_LIMIT_MAX, RECALL_NEIGHBORS_DEFAULT, RECALL_NEIGHBORS_MAX]).toEqual([
    10, 1_000, 1, 10,
  ]);
});
