import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import type { Store } from "../../src/index.ts";
import { moveIdleSessions } from "../../src/ingest/frontier.ts";
import { SubjectPlacer } from "../../src/ingest/subjects.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { TITLES } from "../../src/models/title.ts";
import { sessionIds } from "../../src/session/aids/session-ids.ts";
import { openDatabase } from "../../src/store/file/open.ts";
import { makeRepositories } from "../../src/store/repositories.ts";
import { expectSeen, runs, TESTS_ALL } from "../support/effort.ts";
import { inDatabase } from "../support/rows.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

const HOUR_MS = 3_600_000;
const THINGS = [
  "deploy pipeline region lock bucket rollout",
  "parser template brace token grammar syntax",
  "invoice currency billing customer refund tax",
];
const SESSION_COUNT = 6;
/** The others have none, and some are given one later. */
const IN_PROJECT = 4;
const SETTINGS = { hotSize: 2, overlap: 0, evictBatch: 2, openClustersMax: 2 };

type Event =
  | { kind: "say"; session: number; thing: number; count: number; picks: number[] }
  | { kind: "night"; hours: number }
  | { kind: "upkeep"; writers: number }
  /** Placing in small batches, and something happens after some of them. */
  | { kind: "interrupted"; batchMax: number; batches: number; by: Change }
  | Change;

type Change =
  | { kind: "forgetSession"; session: number }
  | { kind: "forgetMessages"; session: number; which: number[] }
  | { kind: "giveProject"; session: number };

const session = fc.nat(SESSION_COUNT - 1);
const say = fc.record({
  kind: fc.constant("say" as const),
  session,
  thing: fc.nat(THINGS.length - 1),
  count: fc.integer({ min: 1, max: 6 }),
  picks: fc.array(fc.nat(5), { minLength: 4, maxLength: 8 }),
});
const night = fc.record({ kind: fc.constant("night" as const), hours: fc.constantFrom(25, 31 * 24) });
const doUpkeep = fc.record({ kind: fc.constant("upkeep" as const), writers: fc.integer({ min: 1, max: 2 }) });
const forgetSession = fc.record({ kind: fc.constant("forgetSession" as const), session });
const forgetMessages = fc.record({
  kind: fc.constant("forgetMessages" as const),
  session,
  which: fc.array(fc.nat(99), { minLength: 1, maxLength: 4 }),
});
const giveProject = fc.record({
  kind: fc.constant("giveProject" as const),
  session: fc.integer({ min: IN_PROJECT, max: SESSION_COUNT - 1 }),
});
const interrupted = fc.record({
  kind: fc.constant("interrupted" as const),
  batchMax: fc.integer({ min: 1, max: 3 }),
  batches: fc.integer({ min: 1, max: 4 }),
  by: fc.oneof(forgetSession, forgetMessages, giveProject),
});
const base = [
  { weight: 10, arbitrary: say },
  { weight: 2, arbitrary: night },
  { weight: 3, arbitrary: doUpkeep },
];

/** Let a history happen to a new store, and a last long night and upkeep after it. Sessions left out never were. */
async function lived(
  path: string,
  history: readonly Event[],
  leftOut: ReadonlySet<number>,
  beforeForgetting: (store: Store) => void = () => {},
): Promise<Store> {
  let now = Date.UTC(2026, 0, 1);
  const open = (): Store => openFresh(path, { clock: () => now });
  const store = open();
  const other = open();
  const database = openDatabase(path, { readonly: false, durability: "process", busyTimeoutMs: 5_000 });
  const repositories = makeRepositories(database, estimatingTokenCounter, TITLES);
  const placers = [1, 2, 3].map((batchMax) => new SubjectPlacer(repositories, batchMax));
  const gone = new Set<number>();
  const counts = new Map<number, number>();
  const sessionOf = (index: number) =>
    store.session(`s${index}`, { ...SETTINGS, ...(index < IN_PROJECT ? { project: "p" } : {}) });
  const placeInterrupted = async (batchMax: number, batches: number, by: Change): Promise<void> => {
    const { signal } = new AbortController();
    await moveIdleSessions(repositories, {
      embedder: hashingEmbedder,
      nowMs: now,
      isSpared: () => false,
      signal,
      onMoved: () => {},
    });
    const waiting = (): number => repositories.subjects.projectsToAssign().length;
    const placing = placers[batchMax - 1]!.placeAll(signal);
    for (let batch = 1; batch < batches; batch++) await setImmediate();
    if (waiting() > 0) seen.interrupted += 1;
    happen(by);
    await placing;
  };
  const happen = (event: Event): void => {
    if (!("session" in event) || leftOut.has(event.session) || gone.has(event.session)) return;
    const index = event.session;
    const said = counts.get(index) ?? 0;
    if (event.kind === "say") {
      const words = THINGS[event.thing]!.split(" ");
      const texts = Array.from({ length: event.count }, (_, number) =>
        event.picks.map((pick) => words[(pick + number) % words.length]).join(" "),
      );
      sessionOf(index).append(texts.map((content) => ({ role: "user", content })));
      counts.set(index, said + event.count);
    } else if (said === 0) {
    } else if (event.kind === "forgetSession") {
      beforeForgetting(store);
      store.forget(`s${index}`);
      gone.add(index);
    } else if (event.kind === "forgetMessages") {
      const seqs = new Set(event.which.map((which) => which % said));
      const messages = store.session(`s${index}`).messages();
      const messageIds = messages.filter(({ seq }) => seqs.has(seq)).map(({ id }) => id);
      beforeForgetting(store);
      if (messageIds.length > 0) store.forget(`s${index}`, { messageIds });
    } else if (event.kind === "giveProject") {
      store.session(`s${index}`, { project: "p" });
    }
  };
  for (const event of [...history, { kind: "night", hours: 31 * 24 }, { kind: "upkeep", writers: 1 }] as Event[]) {
    now += HOUR_MS;
    if (event.kind === "night") now += event.hours * HOUR_MS;
    else if (event.kind === "interrupted") await placeInterrupted(event.batchMax, event.batches, event.by);
    else if (event.kind !== "upkeep") happen(event);
    else await Promise.all([store, other].slice(0, event.writers).map((one) => one.upkeep()));
  }
  database.client.close();
  other.close();
  return store;
}

/** Subjects as sets of clusters, clusters as the places of their messages: what they are whatever their ids. */
function partition(store: Store): string[] {
  const rows = store.query(
    `SELECT s.subject_id, group_concat(m.session_id || '/' || m.seq, ' ' ORDER BY m.session_id, m.seq) AS members
     FROM subject_members s JOIN cluster_members m ON m.cluster_id = s.cluster_id
     GROUP BY s.subject_id, s.cluster_id`,
  );
  const subjects = new Map<unknown, string[]>();
  for (const { subject_id, members } of rows) {
    subjects.set(subject_id, [...(subjects.get(subject_id) ?? []), members as string]);
  }
  return [...subjects.values()].map((clusters) => clusters.sort().join(" | ")).sort();
}

/** The same, once every place has been given anew, in a copy. */
async function partitionPlacedAnew(path: string): Promise<string[]> {
  const copy = join(path, "..", "anew.db");
  copyFileSync(path, copy);
  inDatabase(copy, (database) =>
    database.exec("DELETE FROM unions WHERE level = 'subject'; UPDATE clusters SET subject_parent_id = NULL"),
  );
  const store = openFresh(copy);
  await store.upkeep();
  const found = partition(store);
  store.close();
  return found;
}

/** By handle, what each subject holds now. */
function handles(store: Store): [handle: string, messageIds: number[]][] {
  return store.subjects().map(({ subject }) => [subject, store.expand(subject).members.map(({ id }) => id)]);
}

const seen = { subjects: 0, dissolved: 0, forgotten: 0, spanning: 0, handles: 0, interrupted: 0 };

function count(store: Store): void {
  const [row] = store.query(
    `SELECT (SELECT count(*) FROM unions WHERE level = 'subject' AND kind = 'unite') AS subjects,
            (SELECT count(*) FROM unions WHERE kind = 'dissolve') AS dissolved,
            (SELECT count(*) FROM forgotten_messages) AS forgotten`,
  ) as [Record<"subjects" | "dissolved" | "forgotten", number>];
  for (const key of Object.keys(row) as (keyof typeof row)[]) seen[key] += row[key];
  seen.spanning += store.subjects().length;
}

/**
 * Goal: whatever is forgotten, and whichever process placed what and when, subjects are as if all that is left had been
 * placed at once, in the order in which it settled.
 * Method: a random history of sessions in and out of a project, with upkeeps by one store or two at a time, forgotten
 * messages and sessions, and sessions that get a project late; and all of these also between two batches of a placing.
 * Afterwards take every place away in a copy, place anew, and
 * compare; check that verify agrees, that a rebuild from the log alone brings the same back, and that the handles from
 * before each forgetting give what is left of what they gave.
 */
test("subjects are what is left, placed in order", async () => {
  const event = fc.oneof(
    ...base,
    { weight: 1, arbitrary: forgetSession },
    { weight: 2, arbitrary: forgetMessages },
    { weight: 1, arbitrary: giveProject },
    { weight: 4, arbitrary: interrupted },
  );
  const histories = fc.array(event, { minLength: 15, maxLength: 45, size: "max" });
  await fc.assert(
    fc.asyncProperty(histories, (history) =>
      inFolderAsync(async (folder) => {
        const path = join(folder, "agent.db");
        const earlier: [string, number[]][] = [];
        const store = await lived(path, history, new Set(), (before) => earlier.push(...handles(before)));
        const left = new Set(store.query("SELECT id FROM messages").map(({ id }) => id));
        const roots = new Set(
          store.query("SELECT 'subject:' || root_id AS root FROM clusters").map(({ root }) => root),
        );
        for (const [handle, ids] of earlier) {
          if (!roots.has(handle.split("@")[0]!)) continue; // what named it is gone
          seen.handles += 1;
          expect(store.expand(handle).members.map(({ id }) => id)).toEqual(ids.filter((id) => left.has(id)));
        }
        expect(store.verify()).toMatchObject({ ok: true, problems: [] });
        count(store);
        const found = partition(store);
        inDatabase(path, (database) => database.exec("DELETE FROM clusters"));
        store.verify({ rebuild: true });
        expect(partition(store)).toEqual(found);
        store.close();
        expect(await partitionPlacedAnew(path)).toEqual(found);
      }),
    ),
    { numRuns: runs(15) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expectSeen(seen, { subjects: 50, dissolved: 15, forgotten: 25, spanning: 15, handles: 10, interrupted: 5 });
}, 120_000);

/**
 * Goal: a session that was forgotten leaves the subjects of the others as if it had never been.
 * Method: let a random history happen to two stores, one of which never has the sessions that the other forgets.
 */
test("subjects do not know what was forgotten", async () => {
  const event = fc.oneof(...base, { weight: 2, arbitrary: forgetSession });
  const histories = fc.array(event, { minLength: 15, maxLength: 45, size: "max" });
  const compared = { subjects: 0, forgotten: 0 };
  await fc.assert(
    fc.asyncProperty(histories, (history) =>
      inFolderAsync(async (folder) => {
        const forgotten = new Set(history.flatMap((one) => (one.kind === "forgetSession" ? [one.session] : [])));
        const store = await lived(join(folder, "agent.db"), history, new Set());
        // A session is not there to be forgotten where nobody has spoken in it, and then it may come later.
        const isGone = (index: number): boolean => sessionIds(store, { prefix: `s${index}` }).length === 0;
        const leftOut = new Set([...forgotten].filter(isGone));
        const never = await lived(join(folder, "never.db"), history, leftOut);
        expect(partition(store)).toEqual(partition(never));
        compared.subjects += store.subjects().length;
        compared.forgotten += leftOut.size;
        store.close();
        never.close();
      }),
    ),
    { numRuns: runs(15) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expectSeen(compared, { subjects: 10, forgotten: 15 });
}, 120_000);
