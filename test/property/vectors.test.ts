import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { breachesOf, withOpenCallsAnswered } from "../../scripts/eval/provider-rules.ts";
import { type MessageInput, type Store, StoreError } from "../../src/index.ts";
import { claimFaults } from "../support/claims.ts";
import { runs, TESTS_ALL } from "../support/effort.ts";
import { derivedRows } from "../support/rows.ts";
import { assistant, calls, results, user } from "../support/said.ts";
import { away, refused, scriptedEmbedder } from "../support/scripted-embedder.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

const WORDS = ["lock", "bucket", "parser", "token", "invoice", "refund", "oven", "bread"];
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 }).map((words) => words.join(" "));
const turn: fc.Arbitrary<MessageInput[]> = fc.oneof(
  { weight: 4, arbitrary: text.map((words) => [user(words)]) },
  { weight: 3, arbitrary: text.map((words) => [assistant(words)]) },
  { weight: 3, arbitrary: text.map((words) => [calls(["c"]), results(["c"], words)]) },
  { weight: 1, arbitrary: text.map((words) => [user(words, { pinned: true })]) },
  { weight: 2, arbitrary: fc.constant<MessageInput[]>([user("poison"), user("  ")]) },
);
type Weather = "good" | "good" | "away" | "key" | "nonsense" | "throws";
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(turn, { minLength: 1, maxLength: 8, size: "max" }).map((turns) => ({ append: turns.flat() })),
  },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom<Weather>("good", "good", "away", "key", "nonsense", "throws")
      .map((embed) => ({ embed })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(1_000, 61_000, 3_600_000, 2 * 86_400_000, 31 * 86_400_000).map((pass) => ({ pass })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("compact", "reopen", "upkeep", "forget", "resolve" as const).map((act) => ({ act })),
  },
  { weight: 1, arbitrary: fc.constantFrom("scripted-384", "other-384").map((reembed) => ({ reembed })) },
);
const settings = fc.record({
  hotSize: fc.integer({ min: 1, max: 6 }),
  evictBatch: fc.integer({ min: 1, max: 4 }),
  overlap: fc.constant(1),
  hotTokensMax: fc.constantFrom(100, 400, 100_000),
  maxThemes: fc.integer({ min: 1, max: 3 }),
  openClustersMax: fc.integer({ min: 1, max: 4 }),
  resolveTokensMin: fc.constant(40),
});

/** What was seen over all runs: without it the test could pass on histories in which nothing happens. */
const seen = { held: 0, vectorless: 0, refused: 0, joined: 0, reembedded: 0 };

/** What must hold at any moment, of the rows alone. */
const NEVER: readonly string[] = [
  "SELECT 'vector although due', p.message_id FROM pending_vectors p JOIN messages m ON m.id = p.message_id WHERE m.embedding IS NOT NULL",
  "SELECT 'due in the forest', m.id FROM pending_vectors p JOIN messages m ON m.id = p.message_id JOIN sessions s ON s.id = m.session_id WHERE m.seq < s.graduated_seq AND NOT m.pinned",
  "SELECT 'neither vector nor due', m.id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.embedding IS NULL AND trim(m.text) <> '' AND m.seq >= s.graduated_seq AND m.id NOT IN (SELECT message_id FROM pending_vectors) AND NOT (m.text = 'poison' AND (SELECT max(id) > 1 FROM generations))",
  "SELECT 'of another embedder', id FROM messages WHERE embedder_id <> (SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1)",
];

/**
 * Goal: whatever a remote embedder does, the store is whole, contexts keep their budgets and rules, a vector comes only to
 * a message that waits for it, and once the service is well again every message that waits gets its vector.
 * Method: random histories of appends, weather, time, forgetting, reopening and other embedders; after each event look at the rows, a context
 * and `verify`; rebuild and compare bit for bit; end with good weather.
 */
test("any history with a remote embedder leaves a store that is whole", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 4, maxLength: 24, size: "max" }), settings, async (events, given) => {
      await inFolderAsync(async (folder) => {
        const path = join(folder, "agent.db");
        let embedder = scriptedEmbedder({ textsMax: 4 });
        let now = Date.UTC(2026, 0, 1);
        let weather: Weather = "good";
        const good = embedder.embedAll;
        embedder.embedAll = async (request) => {
          if (weather === "away") throw away(5_000);
          if (weather === "key") throw refused(403);
          if (weather === "nonsense") return request.texts.map(() => new Float32Array(384));
          if (weather === "throws") throw new Error("no reason");
          if (request.texts.includes("poison")) throw refused();
          return good(request);
        };
        const open = (): Store => openFresh(path, { embedder, clock: () => now });
        let store = open();
        try {
          for (const one of events) {
            const session = store.session("s", given);
            if ("append" in one) session.append(one.append);
            else if ("pass" in one) now += one.pass;
            else if ("embed" in one) {
              weather = one.embed;
              await store.upkeep({ only: "vectors" });
            } else if ("reembed" in one) {
              weather = "good";
              const next = { ...embedder, id: one.reembed };
              try {
                if ((await store.reembed({ embedder: next })).reembedded) seen.reembedded += 1;
                embedder = next;
              } catch (error) {
                if (!StoreError.is(error, "MODEL_REFUSED")) throw error; // poison alone
              }
            } else if (one.act === "reopen") {
              store.close();
              store = open();
            } else if (one.act === "upkeep") await store.upkeep();
            else if (one.act === "resolve") await session.resolveDirty();
            else if (one.act === "compact") session.compact();
            else {
              const ids = session.messages().map(({ id }) => id);
              if (ids.length > 0) store.forget("s", { messageIds: [ids[now % ids.length]!] });
            }
            expectWhole(store);
          }
          now += 3_600_000 * 2;
          weather = "good";
          for (let attempt = 0; attempt < 12 && store.stats().pendingVectorCount > 0; attempt++) {
            store.session("s", given).append(user(`bread number ${attempt}`)); // so that others are taken
            await store.upkeep({ only: "vectors" });
            now += 3_600_000;
          }
          expect(store.stats().pendingVectorCount).toBe(0);
          seen.refused += store.stats().failedVectorCount;
          expectWhole(store);
          const before = derivedRows(path);
          store.verify({ rebuild: true });
          expect(derivedRows(path)).toEqual(before);
          seen.vectorless += store.stats().withoutVectorCount;
          seen.joined += store.query("SELECT 1 FROM clusters WHERE vector_count > 1").length;
        } finally {
          store.close();
        }
      });
    }),
    { numRuns: runs(15) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  for (const [what, count] of Object.entries(seen)) expect([what, count > 0]).toEqual([what, true]);
}, 120_000);

function expectWhole(store: Store): void {
  const session = store.session("s");
  for (const sql of NEVER) expect(store.query(sql)).toEqual([]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  if (store.stats().pendingVectorCount > 12) seen.held += 1;
  for (const tokensMax of [300, 5_000]) {
    try {
      const context = session.render({ tokensMax });
      expect(context.tokenCount).toBeLessThanOrEqual(tokensMax);
      const isSpoken = context.messages.some(({ role }) => role !== "system");
      if (isSpoken) expect(breachesOf(withOpenCallsAnswered(context.messages))).toEqual([]);
      const isSparse = store.query("SELECT 1 FROM forgotten_messages LIMIT 1").length > 0;
      if (!isSparse) expect(claimFaults(store, session, context)).toEqual([]);
    } catch (error) {
      if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
    }
  }
}
