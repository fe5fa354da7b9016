import { expect, test } from "vitest";
import type { Session, TokenCounter } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

/** One token a character, so that every count below can be done by hand. */
const characters: TokenCounter = { name: "characters", count: (text) => text.length };

/** Messages of 100 tokens: 96 characters and 4 for the message. */
function say(session: Session, count: number): void {
  for (let index = 0; index < count; index++) session.append(user(`${index} `.padEnd(96, "x")));
}

function sessionOf(count: number): Session {
  const settings = { hotSize: 4, overlap: 2, evictBatch: 1_000, hotTokensMax: 100_000 };
  const session = temporaryStore({ tokenCounter: characters }).session("s", settings);
  say(session, count);
  return session;
}

test("of a session that fits is what all its messages cost", () => {
  expect(sessionOf(4).pressure({ tokensMax: 1_600 })).toEqual({
    tokensMax: 1_600,
    fullTokens: 400,
    contextTokens: 400,
    share: 0.25,
    isTooSmall: false,
    hotTokens: 400,
    hiddenTokens: 0,
    compactableTokens: 0,
    unsummarizedCount: 0,
  });
  expect(sessionOf(0).pressure({ tokensMax: 100 })).toMatchObject({ fullTokens: 0, contextTokens: 0, share: 0 });
});

test("says what has no room, and what compacting would take out of the window", () => {
  const session = sessionOf(10);
  // Of ten messages the newest four are hot and two more overlap: compacting evicts four.
  const before = session.pressure({ tokensMax: 800 });
  expect(before).toMatchObject({ fullTokens: 1_000, hotTokens: 1_000, compactableTokens: 400, unsummarizedCount: 0 });
  const shown = session.render({ tokensMax: 800 });
  expect(before.contextTokens).toBe(shown.tokenCount);
  expect(before.share).toBe(shown.tokenCount / 800);
  expect(before.hiddenTokens).toBe(1_000 - 100 * shown.sources.length);
  expect(before.hiddenTokens).toBeGreaterThan(0);

  session.compact();
  expect(session.pressure({ tokensMax: 800 })).toMatchObject({
    fullTokens: 1_000,
    hotTokens: 600,
    compactableTokens: 0,
    unsummarizedCount: 4,
  });
});

test("takes a model's window as render does", () => {
  const { tokensMax, share } = sessionOf(4).pressure({ contextWindow: 1_000, reserveTokens: 150, toolTokens: 50 });
  expect({ tokensMax, share }).toEqual({ tokensMax: 800, share: 0.5 });
  expect(() => sessionOf(0).pressure({ reserveTokens: 10 })).toThrow("reserveTokens to be left out");
});

test("reports a budget that is too small for the newest user message, which render refuses", () => {
  const session = sessionOf(1);
  expect(session.pressure({ tokensMax: 50 })).toMatchObject({
    contextTokens: 100,
    share: 2,
    isTooSmall: true,
    hiddenTokens: 100,
  });
  expect(() => session.render({ tokensMax: 50 })).toThrow(expect.objectContaining({ code: "BUDGET_TOO_SMALL" }));
  expect(session.render({ tokensMax: 100 }).tokenCount).toBe(100);
});

test("refuses options that are not there, whoever is asked", async () => {
  const session = temporaryStore().session("s");
  const typo = { tokenMax: 100 } as object;
  const refusal = (of: string) => `Expected an option of ${of} to be one of `;
  expect(() => session.render(typo)).toThrow(refusal("render"));
  expect(() => session.pressure(typo)).toThrow(refusal("pressure"));
  expect(() => session.compact(typo)).toThrow(refusal("compact"));
  await expect(session.resolveDirty(typo)).rejects.toThrow(refusal("resolveDirty"));
});
