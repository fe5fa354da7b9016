import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LogRow, replay } from "../../src/forest/forest.ts";
import { type MessageInput, type RenderResult, type Session, type Store, StoreError } from "../../src/index.ts";
import { claimFaults, idsOf } from "../support/claims.ts";
import { expectSeen, runs } from "../support/effort.ts";
import { rootsOf } from "../support/forest-steps.ts";
import { nastyMessage, repeatedIds, subjectText } from "../support/message-arbitraries.ts";
import { derivedRows, inDatabase } from "../support/rows.ts";
import { assistant, calls, inputOf, results, user } from "../support/said.ts";
import { type Behavior, scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { inFolderAsync, openFresh, tickingClock } from "../support/temporary-store.ts";

type Event =
  | { kind: "append"; messages: MessageInput[] }
  | { kind: "batch"; messages: MessageInput[] }
  | { kind: "compact" | "reopen" | "switch" | "resolve" | "rest" };

/** More than any history here costs. */
const TOKENS_UNLIMITED = 100_000_000;

const utterance: fc.Arbitrary<MessageInput[]> = fc.oneof(
  { weight: 6, arbitrary: subjectText.map((words) => [user(words)]) },
  { weight: 6, arbitrary: subjectText.map((words) => [assistant(words)]) },
  { weight: 1, arbitrary: subjectText.map((words) => [user(words, { name: words.split(" ")[0]! })]) },
  { weight: 1, arbitrary: subjectText.map((words) => [user(words, { pinned: words.length % 3 === 0 })]) },
  {
    weight: 5,
    arbitrary: fc.tuple(repeatedIds, subjectText).map(([called, words]) => [calls(called), results(called, words)]),
  },
  // Calls whose answers come one by one, late, twice, or never; and others in between.
  { weight: 2, arbitrary: repeatedIds.map((called) => [calls(called)]) },
  { weight: 4, arbitrary: fc.tuple(repeatedIds, subjectText).map(([answered, words]) => [results(answered, words)]) },
  { weight: 1, arbitrary: fc.constant<MessageInput[]>([{ role: "system", content: "Be brief." }]) },
  { weight: 1, arbitrary: nastyMessage.map((message) => [message]) },
);
const utterances = (maxLength: number): fc.Arbitrary<MessageInput[]> =>
  fc.array(utterance, { minLength: 1, maxLength, size: "max" }).map((messages) => messages.flat());
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: utterances(6).map((messages) => ({ kind: "append" as const, messages })) },
  { weight: 3, arbitrary: utterances(12).map((messages) => ({ kind: "batch" as const, messages })) },
  { weight: 3, arbitrary: fc.constant({ kind: "resolve" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "rest" as const }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ kind: "compact" as const }, { kind: "reopen" as const }, { kind: "switch" as const }),
  },
);
const settings = fc.record({
  hotSize: fc.integer({ min: 1, max: 8 }),
  evictBatch: fc.integer({ min: 2, max: 6 }),
  overlap: fc.integer({ min: 0, max: 2 }),
  hotTokensMax: fc.constantFrom(100, 400, TOKENS_UNLIMITED),
  maxThemes: fc.integer({ min: 1, max: 4 }),
  openClustersMax: fc.integer({ min: 1, max: 6 }),
  resolveTokensMin: fc.constantFrom(1, 40, 200),
  summaryTokensMax: fc.constantFrom(20, 60),
});
const script = fc.array(fc.constantFrom<Behavior>("good", "good", "good", "good", "fail", "inflate", "empty"), {
  minLength: 1,
  maxLength: 12,
});

const BUDGETS = [300, 1_000, 4_000, 1_000_000];

/** What was seen over all runs; without it the test could pass on histories in which nothing happens. */
const seen = {
  messages: 0,
  joins: 0,
  settles: 0,
  unites: 0,
  shown: 0,
  failed: 0,
  summarySources: 0,
  recalled: 0,
  refusedBudgets: 0,
  reopens: 0,
  windows: 0,
  rests: 0,
  subjects: 0,
};

/**
 * Goal: whatever happens to a session, the file agrees with itself, shows the same to everyone, and loses nothing.
 * Method: run a random history of appends, batches, compactions, resolves by a summarizer that often fails, days without a
 * word, reopenings and changes of writer between two connections. Then compare the running session with a freshly opened one, the log
 * with the reference forest, the forest with what was appended, each render's claims with all messages, and the derived
 * rows with what a rebuild makes of the log after they were deleted.
 */
test("promise 5 and promise 2: agrees with itself after any history", async () => {
  await fc.assert(
    fc.asyncProperty(
      settings,
      script,
      fc.array(event, { minLength: 8, maxLength: 30, size: "max" }),
      (options, behaviors, history) =>
        inFolderAsync(async (folder) => {
          const path = join(folder, "agent.db");
          const ticks = tickingClock();
          let slept = 0;
          const clock = (): number => ticks() + slept;
          const summarizer = scriptedSummarizer(...behaviors);
          const open = (): Store => openFresh(path, { clock, summarizer });
          const stores = [open(), open()];
          const said: MessageInput[] = [];
          stores[0]!.session("s", options);
          // A second session in between, so that ids and log positions of one have gaps.
          stores[1]!.session("other", options);
          let writer = 0;
          for (const happening of history) {
            const session = stores[writer]!.session("s");
            switch (happening.kind) {
              case "append":
                for (const message of happening.messages) session.append(message);
                stores[1]!.session("other").append(user(`aside ${said.length}`));
                break;
              case "batch":
                session.append(happening.messages);
                break;
              case "compact":
                session.compact();
                break;
              case "resolve": {
                const { failed } = await session.resolveDirty();
                seen.failed += failed;
                break;
              }
              case "rest": {
                slept += 25 * 3_600_000;
                const hot = hotOf(stores[writer]!);
                await stores[1 - writer]!.upkeep();
                expect(hotOf(stores[writer]!)).toEqual(hot);
                seen.rests += 1;
                break;
              }
              case "reopen":
                stores[writer]!.close();
                stores[writer] = open();
                seen.reopens += 1;
                break;
              case "switch":
                writer = 1 - writer;
            }
            if (happening.kind === "append" || happening.kind === "batch") said.push(...happening.messages);
            // A read in the middle must not change what comes after.
            if (said.length % 5 === 0) rendersOf(stores[writer]!.session("s"));
          }

          const store = stores[writer]!;
          const session = store.session("s");
          expect(store.verify()).toMatchObject({ ok: true, problems: [] });
          const fresh = openFresh(path, { readonly: true });
          expect(rendersOf(session)).toEqual(rendersOf(fresh.resume("s")));
          expect(rendersOf(session)).toEqual(rendersOf(stores[1 - writer]!.session("s")));
          expectAllThere(fresh, fresh.resume("s"), said);
          expectWholeSteps(fresh);
          expectWindow(fresh, options);
          expectEmbeddings(fresh);
          expectUncovered(fresh);
          expectReferenceForest(fresh);
          expectClaims(fresh, fresh.resume("s"));
          count(fresh);
          fresh.close();

          const before = derivedRows(path);
          inDatabase(path, (database) =>
            database.exec(
              "DELETE FROM clusters; DELETE FROM themes; UPDATE messages SET parent_id = (SELECT min(id) FROM messages)",
            ),
          );
          expect(store.verify()).toMatchObject({ ok: said.length === 0 });
          expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
          expect(derivedRows(path)).toEqual(before);
          for (const open of stores) open.close();
        }),
    ),
    { numRuns: Math.max(5, runs(10)) },
  );
  expectSeen(seen, {
    messages: 400,
    joins: 150,
    settles: 30,
    unites: 30,
    shown: 10,
    failed: 1,
    summarySources: 10,
    recalled: 10,
    refusedBudgets: 3,
    reopens: 0,
    windows: 0,
    rests: 5,
    subjects: 15,
  });
}, 120_000);

/** The messages of the window and the pinned ones; a context with room for all shows them, and cuts only very long results. */
function hotOf(store: Store): unknown[] {
  const rows = store.query("SELECT message_id FROM message_zones WHERE session_id = 's' AND is_hot ORDER BY seq");
  const hot = rows.map(({ message_id }) => message_id);
  const { sources } = store.session("s").render({ tokensMax: TOKENS_UNLIMITED });
  const shown = sources.flatMap((source) => ("messageId" in source ? [source.messageId] : []));
  expect(shown).toEqual(expect.arrayContaining(hot));
  return hot;
}

/** By budget, the whole result as text; or what was said against it. */
function rendersOf(session: Session): string[] {
  return BUDGETS.map((tokensMax) => {
    try {
      return JSON.stringify(session.render({ tokensMax }));
    } catch (error) {
      if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
      seen.refusedBudgets += 1;
      return error.message;
    }
  });
}

/** Over all themes and what has not graduated, every message once, as it went in. */
function expectAllThere(store: Store, session: Session, said: readonly MessageInput[]): void {
  const themes = session.roots().flatMap(({ root }) => idsOf(store, root));
  const clusters = session.roots({ level: "cluster" }).flatMap(({ root }) => idsOf(store, root));
  expect(clusters.toSorted(byNumber)).toEqual(themes.toSorted(byNumber));
  const outside = store.query("SELECT message_id AS id FROM message_zones WHERE is_cold = 0 AND session_id = 's'");
  const everywhere = [...themes, ...outside.map(({ id }) => id as number)].sort(byNumber);
  const messages = session.messages();
  expect(everywhere).toEqual(messages.map(({ id }) => id));
  expect(messages.map((message) => JSON.stringify(contentOf(inputOf(message))))).toEqual(
    said.map((message) => JSON.stringify(contentOf(message))),
  );
}

function contentOf({ role, content, parts, name, metadata }: MessageInput): unknown[] {
  return [role, parts ?? [{ type: "text", text: content }], name, metadata];
}

/** All messages of a step are in one zone, but for the results of others that it does not own. */
function expectWholeSteps(store: Store): void {
  const parted = store.query(
    "SELECT m.step_id FROM messages m JOIN message_zones z ON z.message_id = m.id GROUP BY m.step_id HAVING count(DISTINCT z.zone) > 1",
  );
  expect(parted).toEqual([]);
}

/** Where tokens did not force it, `hotSize` and `overlap` messages are word for word, whatever moved the frontier. */
function expectWindow(
  store: Store,
  { hotSize, overlap, hotTokensMax }: { hotSize: number; overlap: number; hotTokensMax: number },
): void {
  if (hotTokensMax < TOKENS_UNLIMITED) return;
  const [row] = store.query(
    "SELECT message_count - pinned_count AS total, hot_count - pinned_count AS hot FROM session_stats WHERE session_id = 's'",
  );
  expect(row!.hot).toBeGreaterThanOrEqual(Math.min(row!.total as number, hotSize + overlap));
  seen.windows += 1;
}

/** The view walks the log with SQL, the library with one look-up at a time: they find as much without a summary. */
function expectUncovered(store: Store): void {
  const counted = store
    .resume("s")
    .roots()
    .reduce((sum, { uncoveredCount }) => sum + uncoveredCount, 0);
  expect(store.query("SELECT count(*) AS n FROM uncovered WHERE session_id = 's'")).toEqual([{ n: counted }]);
}

/** Where there are words, there is a vector. */
function expectEmbeddings(store: Store): void {
  const bare = store.query("SELECT text FROM messages WHERE embedding IS NULL");
  expect(bare.filter(({ text }) => /[a-z]{3}/.test(text as string))).toEqual([]);
}

/** The log makes the same parents, clusters and themes in the forest that knows nothing of rows. */
function expectReferenceForest(store: Store): void {
  const log = store.query(
    "SELECT id, level, kind, node, root FROM unions WHERE session_id = 's' AND level <> 'subject' ORDER BY id",
  ) as unknown as LogRow[];
  const { forest, refused } = replay(log);
  expect(refused).toBeUndefined();
  for (const { id, step_id, parent_id } of store.query(
    "SELECT id, step_id, parent_id FROM messages WHERE session_id = 's'",
  )) {
    const parent = id === step_id ? forest.parentOf(id as number) : forest.find(step_id as number)?.cluster;
    expect([id, parent_id]).toEqual([id, parent ?? id]);
  }
  const roots = (table: string): unknown[] =>
    store.query(`SELECT root_id FROM ${table} WHERE session_id = 's' ORDER BY 1`).map(({ root_id }) => root_id);
  expect(roots("clusters")).toEqual(rootsOf(log, forest, "cluster").sort(byNumber));
  expect(roots("themes")).toEqual(rootsOf(log, forest, "theme").sort(byNumber));
}

function expectClaims(store: Store, session: Session): void {
  const query = session.messages().at(0)?.text.trim();
  for (const tokensMax of BUDGETS) {
    for (const asked of query ? [{}, { query, scope: "session" as const }] : [{}]) {
      let result: RenderResult;
      try {
        result = session.render({ tokensMax, ...asked });
      } catch (error) {
        if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
        continue; // counted by `rendersOf`
      }
      expect(claimFaults(store, session, result)).toEqual([]);
      seen.summarySources += result.sources.filter(({ how }) => how === "summary").length;
      seen.recalled += result.recalled.length;
    }
  }
}

function count(store: Store): void {
  const [row] = store.query(
    `SELECT (SELECT count(*) FROM messages) AS messages,
            (SELECT count(*) FROM unions WHERE kind = 'join') AS joins,
            (SELECT count(*) FROM unions WHERE kind = 'settle') AS settles,
            (SELECT count(*) FROM unions WHERE kind = 'unite' AND level = 'theme') AS unites,
            (SELECT count(*) FROM unions WHERE level = 'subject') AS subjects,
            (SELECT count(*) FROM summaries WHERE shown_from IS NOT NULL) AS shown`,
  ) as [Record<"messages" | "joins" | "settles" | "unites" | "subjects" | "shown", number>];
  for (const key of Object.keys(row) as (keyof typeof row)[]) seen[key] += row[key];
}

function byNumber(left: number, right: number): number {
  return left - right;
}
