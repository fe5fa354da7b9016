import { expect, test } from "vitest";
import type { Session } from "../../../src/index.ts";
import { claimFaults } from "../../support/claims.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const BUDGET = 10_000;

function append(session: Session, count: number): void {
  for (const message of talk(count)) session.append(message);
}

test("a talk is shown whole while it fits a large budget, although most of it has left the window", () => {
  const session = temporaryStore().session("s");
  append(session, 150);
  const { sources, omitted, tokenCount } = session.render({ tokensMax: BUDGET });
  expect(sources).toHaveLength(150);
  expect(new Set(sources.map(({ how }) => how))).toEqual(new Set(["verbatim"]));
  expect(omitted).toEqual([]);
  expect(tokenCount).toBeLessThan(BUDGET);
});

test("a longer talk leaves little of a large budget, names every message once, and keeps its prefix between moves", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  append(session, 400);
  let kept = 0;
  let before: unknown[] = [];
  const unused: number[] = [];
  for (let round = 0; round < 60; round++) {
    append(session, 1);
    const context = session.render({ tokensMax: BUDGET });
    expect(context.tokenCount).toBeLessThanOrEqual(BUDGET);
    unused.push(1 - context.tokenCount / BUDGET);
    if (round % 20 === 0) {
      expect(claimFaults(store, session, context)).toEqual([]);
      expect(openedStore(path).session("s").render({ tokensMax: BUDGET })).toEqual(context);
    }
    if (before.every((message, index) => JSON.stringify(message) === JSON.stringify(context.messages[index]))) kept++;
    before = context.messages;
  }
  expect(Math.max(...unused)).toBeLessThan(0.12);
  expect(kept).toBeGreaterThan(50);
});
