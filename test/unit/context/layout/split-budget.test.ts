import { expect, test } from "vitest";
import { stableTokensMax } from "../../../../src/context/layout/fit-window.ts";
import { prepareView } from "../../../../src/context/layout/prepare.ts";
import { messageOf, textMessage } from "../../../support/render-message.ts";
import { quarterCounter } from "../../../support/render-model.ts";
import { viewOf } from "../../../support/render-view.ts";

const view = viewOf({
  pinned: [textMessage(0, "system", 40)],
  window: [textMessage(1, "user", 500), textMessage(2, "user", 100)],
});
const stable = (tokensMax: number) => stableTokensMax(prepareView(view, quarterCounter), tokensMax, quarterCounter);

// Pinned 40, newest step 100, 4 of a message and 36 of the longest pointer line.
const LEAST = 180;

test("leaves all but the pinned, the newest step and a pointer line of a small budget to evidence", () => {
  expect(stable(500)).toBe(LEAST);
  expect(stable(2_000)).toBe(LEAST);
});

test("keeps two thirds of what is over 2,000", () => {
  expect(stable(5_000)).toBe(2_000);
  expect(stable(16_000)).toBe(9_333);
});

test("is never more than the budget", () => {
  expect(stable(100)).toBe(100);
});

test("leaves nothing to the rest where there is nothing", () => {
  expect(stableTokensMax(prepareView(viewOf({}), quarterCounter), 2_000, quarterCounter)).toBe(40);
});

test("prices what a context adds or changes: a line before an assistant's first message, words for a blank one", () => {
  const blank = messageOf(0, "assistant", [{ type: "text", text: " " }]);
  // The line 12 and 4, `[no text]` 3 and 4, 4 of a message and 36 of the pointer line.
  expect(stableTokensMax(prepareView(viewOf({ window: [blank] }), quarterCounter), 2_000, quarterCounter)).toBe(63);
});
