import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageInput, Store } from "../../src/index.ts";
import {
  forgetAt,
  numberedStore,
  opened,
  type PathEvent,
  replayed,
  SMALL_WINDOW,
  seen,
  timed,
} from "../support/head-run.ts";
import { assistant, calls, results, user } from "../support/said.ts";
import { inFolderAsync } from "../support/temporary-store.ts";

type Deed =
  | { kind: "append" | "batch"; messages: MessageInput[]; by: number }
  | { kind: "rewind"; which: number; by: number }
  | { kind: "forget"; which: number; by: number }
  | { kind: "edit"; which: number; message: MessageInput; by: number }
  | { kind: "compact" | "reopen" | "undo"; by: number };

/** `HEAD_RUNS=1000 COPPICE_SEED=random npx vitest run test/property/head.test.ts` takes a quarter of an hour. */
const RUNS = Number(process.env.HEAD_RUNS ?? 25);

const SUBJECTS = [
  "deploy pipeline region lock bucket rollout cluster",
  "parser template brace token grammar syntax",
  "invoice currency billing customer refund tax",
  "thumbnail photograph resize queue image pixel",
];
const QUERIES = SUBJECTS.map((subject) => subject.split(" ").slice(0, 3).join(" "));
const text = fc
  .tuple(fc.nat(SUBJECTS.length - 1), fc.array(fc.nat(6), { minLength: 2, maxLength: 12 }))
  .map(([subject, picks]) => picks.map((pick) => SUBJECTS[subject]!.split(" ")[pick % 6]).join(" "));
const ids = fc.subarray(["call_0", "call_1", "call_2"], { minLength: 1 });
const utterance: fc.Arbitrary<MessageInput[]> = fc.oneof(
  { weight: 6, arbitrary: text.map((words) => [user(words)]) },
  { weight: 6, arbitrary: text.map((words) => [assistant(words)]) },
  { weight: 1, arbitrary: text.map((words) => [user(words, { pinned: words.length % 3 === 0, name: "Ines" })]) },
  { weight: 5, arbitrary: fc.tuple(ids, text).map(([called, words]) => [calls(called), results(called, words)]) },
  { weight: 3, arbitrary: ids.map((called) => [calls(called), ...called.map((id) => results([id], "done"))]) },
  { weight: 2, arbitrary: ids.map((called) => [calls(called)]) },
  { weight: 1, arbitrary: fc.constant<MessageInput[]>([{ role: "system", content: "Be brief." }]) },
);
const utterances = fc.array(utterance, { minLength: 1, maxLength: 14, size: "max" }).map((messages) => messages.flat());
const by = fc.nat(1);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("append" as const), messages: utterances, by }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("batch" as const), messages: utterances, by }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("rewind" as const), which: fc.nat(), by }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("undo" as const), by }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      which: fc.nat(),
      message: text.map((words) => user(words)),
      by,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), which: fc.nat(), by }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("compact" as const, "reopen" as const), by }) },
);

/**
 * Goal: whatever was superseded, the store shows what it would show if only the path had ever been appended.
 * Method: drive two open stores of one file with a random history, and keep a list of what makes the path. At the end append that
 * list to a new store, and compare contexts, themes, clusters with the bits of their vectors, zones and what recall finds.
 * Handles that were rendered before a rewind must expand to the same messages as then.
 */
test("a rewound session is what it would be if the path alone had been appended", async () => {
  const counts = { rewinds: 0, undos: 0, undoneRows: 0, handles: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 3, maxLength: 24, size: "max" }), async (deeds) => {
      await inFolderAsync(async (folder) => {
        const path = join(folder, "agent.db");
        const stores: Store[] = [numberedStore(path), opened(path)];
        let events: PathEvent[] = [];
        let nextSeq = 0;
        const expansions = new Map<string, number[]>();
        const rewinds: { events: PathEvent[]; nextSeq: number; toSeq: number }[] = [];
        const sessionOf = (by: number) => stores[by]!.session("s", SMALL_WINDOW);
        for (const deed of deeds) {
          const store = stores[deed.by]!;
          const session = sessionOf(deed.by);
          if (deed.kind === "append" || deed.kind === "batch") {
            const messages = deed.messages.map((message, index) => timed(message, nextSeq + index));
            if (deed.kind === "batch") session.appendAll(messages);
            else for (const message of messages) session.append(message);
            for (const message of deed.messages) events.push({ kind: "append", seq: nextSeq++, message });
            session.render();
          } else if (deed.kind === "rewind" || deed.kind === "edit") {
            for (const { root } of [...session.roots(), ...session.roots({ level: "cluster" })]) {
              expansions.set(root, membersOf(store, root));
            }
            const held = session.messages();
            if (deed.kind === "edit" && held.length === 0) continue;
            const toSeq =
              deed.kind === "rewind" ? (deed.which % (nextSeq + 1)) - 1 : held[deed.which % held.length]!.seq - 1;
            if (deed.kind === "rewind") {
              const { branchId } = session.rewind({ toSeq });
              if (branchId !== null) rewinds.push({ events, nextSeq, toSeq });
            } else {
              session.edit(held.find(({ seq }) => seq === toSeq + 1)!.id, timed(deed.message, toSeq + 1));
              rewinds.push({ events, nextSeq, toSeq });
            }
            events = upTo(events, toSeq);
            nextSeq = toSeq + 1;
            if (deed.kind === "edit") events.push({ kind: "append", seq: nextSeq++, message: deed.message });
            counts.rewinds += 1;
          } else if (deed.kind === "undo") {
            const last = rewinds.pop();
            expect(session.undo().restoredCount > 0).toBe(last !== undefined);
            if (last === undefined) continue;
            // What the caller compacted among the superseded messages is not compacted again.
            const tail = last.events.filter((event) => event.kind === "append" && event.seq > last.toSeq);
            events = [...upTo(events, last.toSeq), ...tail];
            nextSeq = last.nextSeq;
            counts.undos += 1;
          } else if (deed.kind === "forget") {
            if (nextSeq === 0 || rewinds.length > 0) continue; // an undo would forget in another order than the oracle
            const seq = deed.which % nextSeq;
            forgetAt(store, session, seq);
            events.push({ kind: "forget", seq });
            expansions.clear();
          } else if (deed.kind === "compact") {
            session.compact();
            events.push({ kind: "compact", nextSeq });
          } else {
            store.close();
            stores[deed.by] = opened(path);
          }
        }
        for (const store of stores) {
          expect(store.verify()).toMatchObject({ ok: true, problems: [] });
          for (const [handle, members] of expansions) {
            expect(membersOf(store, handle), handle).toEqual(members);
            counts.handles += 1;
          }
        }
        counts.undoneRows += stores[0]!.query("SELECT id FROM undone_unions").length;
        const oracle = replayed(folder, events);
        for (const store of [stores[0]!, oracle]) store.verify({ rebuild: true }); // indexes the newest messages, too
        const expected = await seen(oracle, QUERIES);
        for (const store of stores) {
          store.session("s", SMALL_WINDOW);
          expect(await seen(store, QUERIES)).toEqual(expected);
        }
        for (const store of [...stores, oracle]) store.close();
      });
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  expect(counts.undos).toBeGreaterThan(RUNS / 2);
  expect(counts.rewinds).toBeGreaterThan(RUNS / 2);
  expect(counts.undoneRows).toBeGreaterThan(RUNS);
  expect(counts.handles).toBeGreaterThan(RUNS);
}, 120_000);

function membersOf(store: Store, handle: string): number[] {
  return store.expand(handle, { limit: 1_000 }).members.map(({ id }) => id);
}

/** The events that a rewind leaves. */
function upTo(events: readonly PathEvent[], toSeq: number): PathEvent[] {
  return events.filter((event) => (event.kind === "compact" ? event.nextSeq <= toSeq + 1 : event.seq <= toSeq));
}
