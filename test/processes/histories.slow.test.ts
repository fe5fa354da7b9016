import fc from "fast-check";
import { expect, test } from "vitest";
import { type Message, openStore, type RenderResult, type Store } from "../../src/index.ts";
import { idsOf } from "../support/claims.ts";
import { historyFaults } from "../support/history.ts";
import { keyOf, type Move, messageOf, type Program, runPrograms, shownCount } from "../support/history-run.ts";
import { inFolderAsync } from "../support/temporary-store.ts";
import { WorkerPool } from "../support/worker-pool.ts";

const pool = new WorkerPool(4);

const move: fc.Arbitrary<Move> = fc.record({
  session: fc.constantFrom("s", "s", "s", "t"),
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant("append" as const) },
    { weight: 3, arbitrary: fc.constantFrom("batch" as const, "expect" as const, "sync" as const, "render" as const) },
    { weight: 2, arbitrary: fc.constantFrom("syncShared" as const, "resolve" as const) },
    { weight: 1, arbitrary: fc.constant("compact" as const) },
  ),
});
const moves = fc.array(move, { minLength: 12, maxLength: 24, size: "max" });
/** The first is killed on the way. */
const programs: fc.Arbitrary<Program[]> = fc
  .tuple(moves, fc.nat(10), fc.array(moves, { minLength: 1, maxLength: 3, size: "max" }))
  .map(([first, killAfter, others]) => [{ moves: first, killAfter }, ...others.map((its) => ({ moves: its }))]);

/** What was seen over all runs; without it the test could pass on processes that never meet. */
const seen = {
  messages: 0,
  turns: 0,
  changed: 0,
  unknown: 0,
  renders: 0,
  composed: 0,
  unions: 0,
};

/**
 * Goal: whatever several processes do to a session at once, and whichever of them is killed, it is as if they had done it
 * one at a time, each at some moment between the call and its return; and every render accounts for every message that
 * was there then.
 * Method: two to four processes run random programs of appends, batches, expecting appends, syncs of arrays of their own
 * and of a shared one, renders, resolves and compactions, on two sessions of one file; one is killed on the
 * way, and another goes on for it. Each writes down when it called and when it was answered, by the one clock of the
 * machine. `historyFaults` judges that against the order in which the messages stand in the end; expanding what each
 * render names must give each message that it counts exactly once.
 */
test("every history of calls by several processes could be one of calls in turn", async () => {
  await fc.assert(
    fc.asyncProperty(programs, (concurrent) =>
      inFolderAsync(async (folder) => {
        const path = `${folder}/agent.db`;
        const histories = await runPrograms(pool, path, concurrent);
        const store = openStore(path);
        for (const [id, { events, renders, refusals }] of histories) {
          const messages = store.resume(id).messages();
          const order = messages.map(({ text }) => keyOf(text));
          expect(messages.map(({ seq }) => seq)).toEqual(order.map((_, seq) => seq));
          expect(messages.map(({ parts }) => parts)).toEqual(
            order.map((key) => [{ type: "text", text: messageOf(key).content }]),
          );
          expect(historyFaults(events, order)).toEqual([]);
          expect(renders.flatMap((render) => claimFaultsAt(store, messages, render))).toEqual([]);
          expect(refusals.filter((code) => code !== "SESSION_CHANGED")).toEqual([]);

          const unknown = events.flatMap((event) =>
            event.kind !== "read" && event.answer === "unknown" ? [event] : [],
          );
          const names = order.map((key) => key.split("-")[0]);
          seen.messages += order.length;
          seen.turns += names.filter((name, index) => index > 0 && name !== names[index - 1]).length;
          seen.changed += refusals.length;
          seen.unknown += unknown.length;
          seen.renders += renders.length;
          seen.composed += renders.flatMap(({ composed }) => composed).length;
        }
        const report = store.verify();
        seen.unions += report.unionCount;
        store.close();
        expect(report).toMatchObject({ ok: true, problems: [] });
        await expectSameRenders(path, concurrent.length, [...histories.keys()]);
      }),
    ),
    { numRuns: 6, endOnFailure: true },
  );
  expect(seen.messages).toBeGreaterThan(100);
  expect(seen.turns).toBeGreaterThan(20); // another process's message follows: they were at it together
  expect(seen.changed).toBeGreaterThan(0);
  expect(seen.unknown).toBeGreaterThan(0);
  expect(seen.renders).toBeGreaterThan(10);
  expect(seen.composed).toBeGreaterThan(0);
  expect(seen.unions).toBeGreaterThan(100);
}, 60_000);

/** Every process that has come through, and a fresh store, render the same bytes. */
async function expectSameRenders(path: string, count: number, sessions: readonly string[]): Promise<void> {
  const fresh = openStore(path, { readonly: true });
  for (const session of sessions) {
    const expected = JSON.stringify(fresh.resume(session).render({ tokensMax: 1_000 }));
    const renders = await Promise.all(
      pool.first(count).map((worker) => worker.do({ do: "render", session, tokensMax: 1_000 })),
    );
    expect(renders.map((render) => JSON.stringify(render))).toEqual(renders.map(() => expected));
  }
  fresh.close();
}

/** As `claimFaults`, for a render of the session as it was then: its first messages. */
function claimFaultsAt(store: Store, messages: readonly Message[], render: RenderResult): string[] {
  const then = messages.slice(0, shownCount(render));
  const unclaimed = new Set(then.map(({ id }) => id));
  const faults: string[] = [];
  for (const entry of [...render.sources, ...render.omitted]) {
    const named =
      "messageId" in entry
        ? [entry.messageId]
        : "handle" in entry
          ? idsOf(store, entry.handle)
          : then.slice(entry.seqFirst, entry.seqLast + 1).map(({ id }) => id);
    const count = named.filter((id) => unclaimed.delete(id)).length;
    if (count !== entry.messageCount) faults.push(`${JSON.stringify(entry)} claims ${count}`);
  }
  if (unclaimed.size > 0) faults.push(`unclaimed: ${[...unclaimed].join(", ")}`);
  return faults;
}
