import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../../../src/core/options.ts";
import { estimatingTokenCounter } from "../../../../src/core/tokens.ts";
import { promptOf, promptTexts, SYSTEM } from "../../../../src/models/gemini/prompt.ts";
import { answerJsonSchema } from "../../../../src/models/gemini/reply.ts";
import { Pace } from "../../../../src/models/pace.ts";
import { requestOf, sourcesOf } from "../../../contract/summarizer.contract.ts";
import { turnsDuring } from "../../../support/turns.ts";

test("many texts are made ready with pauses in which others run, and no more once the signal is aborted", async () => {
  const texts = Array.from({ length: 40 }, () => "word ".repeat(1_600));
  const sources = sourcesOf(...texts.map((text): ["user", string] => ["user", text]));
  const pace = new Pace(new AbortController().signal);
  // 40 times 8,000 characters, 16,000 between two pauses.
  expect(await turnsDuring(promptTexts(requestOf(sources), undefined, pace))).toBeGreaterThanOrEqual(19);
  const controller = new AbortController();
  const reason = new Error("closing");
  let seen = 0;
  const redact = (text: string): string => {
    seen++;
    controller.abort(reason);
    return text;
  };
  await expect(promptTexts(requestOf(sources), redact, new Pace(controller.signal))).rejects.toBe(reason);
  expect(seen).toBe(2);
});

test("what every call sends beside its texts costs no more than a theme waits for", () => {
  const fixed = [SYSTEM, JSON.stringify(answerJsonSchema()), promptOf({ previous: [], sources: [] }, 400)];
  const tokenCount = fixed.reduce((sum, text) => sum + estimatingTokenCounter.count(text), 0);
  expect(tokenCount).toBeLessThanOrEqual(DEFAULT_SETTINGS.resolveTokensMin);
});
