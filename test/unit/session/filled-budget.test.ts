import { expect, test } from "vitest";
import type { RenderResult, Session } from "../../../src/index.ts";
import { claimFaults } from "../../support/claims.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const BUDGET = 10_000;

/** Appends steps of work, each a call and a result of some lines. */
function work(session: Session, from: number, count: number): void {
  for (let step = from; step < from + count; step++) {
    if (step % 10 === 0) session.append(user(`Please look at part ${step} of the parser next.`));
    session.append(calls([`call_${step}`]));
    const lines = Array.from(
      { length: 3 + (step % 5) },
      (_, line) => `const part${step}x${line} = await readThePart(${step});`,
    );
    session.append(results([`call_${step}`], lines.join("\n")));
  }
}

const memoryTexts = ({ messages, composed }: RenderResult): string[] =>
  composed.flatMap((index) => messages[index]!.parts.map((part) => part.text as string));

test("longer work keeps a digest of old messages while the frontier moves on, names every message once, and uses its budget", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  work(session, 0, 300);
  const [lasting, others] = [new Set<string>(), new Set<string>()];
  const unused: number[] = [];
  for (let round = 0; round < 60; round++) {
    work(session, 300 + round, 1);
    const context = session.render({ tokensMax: BUDGET });
    const [first, second] = memoryTexts(context);
    lasting.add(first!);
    others.add(second!);
    unused.push(1 - context.tokenCount / BUDGET);
    if (round % 20 > 0) continue;
    expect(claimFaults(store, session, context)).toEqual([]);
    expect(openedStore(path).session("s").render({ tokensMax: BUDGET })).toEqual(context);
    const quoted = memoryTexts(context).flatMap((text) => text.match(/const part\d+x\d+/g) ?? []);
    expect(new Set(quoted).size).toBe(quoted.length);
  }
  expect(others.size).toBeGreaterThan(4);
  expect(lasting.size).toBeLessThan(others.size / 2 + 1);
  expect(unused.reduce((sum, share) => sum + share, 0) / unused.length).toBeLessThan(0.15);
});

function append(session: Session, count: number): void {
  for (const message of talk(count)) session.append(message);
}

test.each([
  ["work", (session: Session) => work(session, 0, 60)],
  ["a talk", (session: Session) => append(session, 150)],
])("%s is shown whole while it fits a large budget, although most of it has left the window", (_, fill) => {
  const session = temporaryStore().session("s");
  fill(session);
  const { sources, omitted, composed, tokenCount } = session.render({ tokensMax: BUDGET });
  expect(sources).toHaveLength(session.messages().length);
  expect(new Set(sources.map(({ how }) => how))).toEqual(new Set(["verbatim"]));
  expect([omitted, composed]).toEqual([[], []]);
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
