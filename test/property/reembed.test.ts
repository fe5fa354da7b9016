import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Embedder, Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { expectSeen, runs } from "../support/effort.ts";
import { letterEmbedder } from "../support/other-embedders.ts";
import { calls, results, user } from "../support/said.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 1, evictBatch: 3, maxThemes: 3, openClustersMax: 3 };
const THINGS = [
  "deploy region bucket lock pipeline",
  "parser template brace token nested",
  "invoice currency customer billing",
  "spam mail domain signature reset",
];
const HOUR = 3_600_000;

const session = fc.nat(2);
const say = fc.record({
  kind: fc.constant("say" as const),
  session,
  thing: fc.nat(THINGS.length - 1),
  picks: fc.array(fc.nat(4), { minLength: 1, maxLength: 4 }),
  count: fc.integer({ min: 1, max: 6 }),
});
const event = fc.oneof(
  { weight: 12, arbitrary: say },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("call" as const), session }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("compact" as const), session }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), hours: fc.constantFrom(1, 30, 900) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("upkeep" as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

/** Events at the same times in any store, whatever its embedder. */
class Life {
  #now = Date.UTC(2026, 0, 1);
  #calls = 0;

  open(path: string, embedder: Embedder): Store {
    return openFresh(path, { embedder, clock: () => this.#now });
  }

  async happen(store: Store, one: Event): Promise<void> {
    if (one.kind === "pass") this.#now += one.hours * HOUR;
    else if (one.kind === "upkeep") await store.upkeep();
    else {
      const talking = store.session(`s${one.session}`, { ...SETTINGS, project: "p" });
      if (one.kind === "compact") talking.compact();
      else if (one.kind === "call") {
        this.#calls += 1;
        talking.append([
          user("read it"),
          calls([`c${this.#calls}`]),
          results([`c${this.#calls}`], "bucket brace mail"),
        ]);
      } else {
        const words = THINGS[one.thing]!.split(" ");
        for (let number = 0; number < one.count; number++) {
          talking.append(user(one.picks.map((pick) => words[(pick + number) % words.length]).join(" ")));
        }
      }
    }
  }
}

/** The forest in use, with the ranks of its log positions: the rows of subjects stand elsewhere in another store. */
function forestOf(store: Store): unknown {
  const log = store.query(
    `SELECT id, session_id, level, kind, node, root, score FROM unions
     WHERE generation = (SELECT max(id) FROM generations) AND level <> 'subject' ORDER BY id`,
  );
  const rankOf = new Map(log.map(({ id }, rank) => [id, rank]));
  const ranked = (rows: readonly Record<string, unknown>[]): unknown[] =>
    rows.map(({ log_position, settled_at, ...row }) => ({
      ...row,
      log_position: rankOf.get(log_position as number),
      settled_at: settled_at === undefined || settled_at === null ? null : rankOf.get(settled_at as number),
    }));
  return {
    log: log.map(({ id: _, ...row }) => row),
    clusters: ranked(
      store.query(
        `SELECT root_id, session_id, step_count, message_count, token_count, hex(centroid_sum) AS sum, vector_count, seq_first,
           seq_last, turn_last, last_at_ms, speakers, log_position, settled_at FROM clusters ORDER BY 1`,
      ),
    ),
    themes: ranked(
      store.query(
        `SELECT root_id, session_id, cluster_count, message_count, token_count, hex(centroid_sum) AS sum, vector_count,
           seq_first, seq_last, log_position FROM themes ORDER BY 1`,
      ),
    ),
    messages: store.query(
      "SELECT id, session_id, seq, parent_id, hex(embedding), embedder_id FROM messages ORDER BY id",
    ),
    sessions: store.query("SELECT id, graduated_seq, evicted_seq FROM sessions ORDER BY id"),
  };
}

/**
 * Goal: at whatever moment of its life a store is embedded again, it has the forest that the new embedder would have grown
 * from the start, and goes on as that one does; but for one thing: a session of which every cluster was full, or none open,
 * when it came to rest settles at the next rest instead.
 * Method: random lives of three sessions, with calls, compactions, nights and upkeep, in two stores, of which one changes its
 * embedder at a random moment. After that and at the end both have the same logs, sums, pointers and vectors; both verify.
 */
test("a store embedded again is as if it had always been so", async () => {
  const seen = { atRest: 0, settles: 0, unites: 0, subjects: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 6, maxLength: 40, size: "max" }), fc.nat(), async (events, at) => {
      await inFolderAsync(async (folder) => {
        const [one, other] = [new Life(), new Life()];
        const old = one.open(join(folder, "old.db"), hashingEmbedder);
        const fresh = other.open(join(folder, "fresh.db"), letterEmbedder);
        try {
          for (const [index, happening] of events.entries()) {
            await one.happen(old, happening);
            await other.happen(fresh, happening);
            if (index !== at % events.length) continue;
            const [{ atRest }] = old.query(
              `SELECT count(*) AS atRest FROM sessions s WHERE s.graduated_seq > 0 AND NOT EXISTS (
                 SELECT 1 FROM clusters c WHERE c.session_id = s.id AND c.settled_at IS NULL)`,
            ) as [{ atRest: number }];
            seen.atRest += atRest;
            await old.reembed({ embedder: letterEmbedder });
            expect(forestOf(old)).toEqual(forestOf(fresh));
            expect(old.verify()).toMatchObject({ ok: true, problems: [] });
          }
          for (const store of [old, fresh]) await store.upkeep();
          expect(forestOf(old)).toEqual(forestOf(fresh));
          expect(old.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
          const count = (condition: string): number =>
            Number(old.query(`SELECT count(*) AS n FROM unions WHERE ${condition}`)[0]!.n);
          seen.settles += count("kind = 'settle' AND generation = 1");
          seen.unites += count("kind = 'unite' AND level = 'theme' AND generation = 2");
          seen.subjects += count("level = 'subject' AND generation = 1");
        } finally {
          old.close();
          fresh.close();
        }
      });
    }),
    { numRuns: runs(30) },
  );
  expectSeen(seen, { atRest: 5, settles: 30, unites: 30, subjects: 10 });
}, 120_000);
