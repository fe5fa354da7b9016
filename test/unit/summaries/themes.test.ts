import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../../src/core/options.ts";
import { extractiveSummarizer } from "../../../src/models/extractive-summarizer.ts";
import type { Repositories } from "../../../src/store/repositories.ts";
import { themeSettings } from "../../../src/summaries/themes.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";

const repositories = { messages: { pinnedTokensOf: () => 100 } } as unknown as Repositories;

const settingsWithin = (tokensMax: number, given: object = {}, isLocal = false) =>
  themeSettings({
    repositories,
    sessionId: "s",
    settings: { ...DEFAULT_SETTINGS, ...given },
    tokensMax,
    summarizer: isLocal ? extractiveSummarizer() : scriptedSummarizer("good"),
  });

test.each([
  ["as the setting says, where there is room for ten such summaries", 16_100, {}, 400],
  ["a tenth of what all themes may take, where there is not", 4_100, {}, 120],
  ["more for each of fewer themes", 4_100, { maxThemes: 5 }, 240],
  ["never less than a statement needs, even where pinned messages leave nothing", 50, {}, 20],
  ["no more than the setting says", 4_100, { summaryTokensMax: 60 }, 60],
])("a summary is as long %s", (_, tokensMax, given, expected) => {
  expect(settingsWithin(tokensMax, given).summaryTokensMax).toBe(expected);
});

test("a theme waits for less where a summary costs nothing", () => {
  expect(settingsWithin(16_000).resolveTokensMin).toBe(600);
  expect(settingsWithin(16_000, {}, true).resolveTokensMin).toBe(200);
});
