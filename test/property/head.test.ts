import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageInput, Session, Store } from "../../src/index.ts";
import {
  type Action,
  act,
  EMBEDDERS,
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
  | { kind: "reembed"; embedder: string; by: number }
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
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("reembed" as const), embedder: fc.constantFrom(...EMBEDDERS), by }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("compact" as const, "reopen" as const), by }) },
);

/** One of several that have the file open. */
interface Actor {
  act(action: Action): Promise<unknown>;
  open(path: string): Promise<void>;
  close(): void;
}

class OwnActor implements Actor {
  #store: Store | undefined;
  open = async (path: string): Promise<void> => {
    this.close();
    this.#store = opened(path);
  };
  act = (action: Action): Promise<unknown> => act(this.#store!, action);
  close = (): void => this.#store?.close();
}

/** A process. It lives as long as the test, and opens one store after another. */
class OtherActor implements Actor {
  readonly #child = fork(fileURLToPath(new URL("../support/head-child.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });
  async #say(said: { open: string } | { action: Action }): Promise<unknown> {
    const answer = once(this.#child, "message") as Promise<[{ value?: unknown; error?: string }]>;
    this.#child.send(said);
    const [{ value, error }] = await answer;
    if (error !== undefined) throw new Error(error);
    return value;
  }
  open = async (path: string): Promise<void> => void (await this.#say({ open: path }));
  act = (action: Action): Promise<unknown> => this.#say({ action });
  close = (): void => {};
  end = (): void => this.#child.disconnect();
}

/**
 * Goal: whatever was superseded, the store shows what it would show if only the path had ever been appended.
 * Method: let two that have one file open change it with a random history, and keep a list of what makes the path. At the end
 * append that list to a new store, and compare contexts, themes, clusters with the bits of their vectors, zones and what recall
 * finds. Handles from before a rewind or a reembed must expand to the same messages as then.
 */
async function compareWithPath(other: Actor, runs: number): Promise<void> {
  const counts = { rewinds: 0, undos: 0, undoneRows: 0, handles: 0, reembeds: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 3, maxLength: 24, size: "max" }), async (deeds) => {
      await inFolderAsync(async (folder) => {
        const path = join(folder, "agent.db");
        const store = numberedStore(path);
        const actors = [new OwnActor(), other];
        for (const actor of actors) await actor.open(path);
        const session = store.session("s", SMALL_WINDOW);
        let events: PathEvent[] = [];
        let nextSeq = 0;
        const expansions = new Map<string, number[]>();
        const noteHandles = (): void => {
          for (const { root } of [...session.roots(), ...session.roots({ level: "cluster" })]) {
            expansions.set(root, membersOf(store, root));
          }
        };
        const rewinds: { events: PathEvent[]; nextSeq: number; toSeq: number }[] = [];
        for (const deed of deeds) {
          const actor = actors[deed.by]!;
          // The other may have changed the embedder.
          const act = (action: Action): Promise<unknown> =>
            actor.act(action).catch(async (error: Error) => {
              if (!String(error).includes("it was opened with")) throw error;
              await actor.open(path);
              return actor.act(action);
            });
          if (deed.kind === "append" || deed.kind === "batch") {
            const messages = deed.messages.map((message, index) => timed(message, nextSeq + index));
            await act({ kind: deed.kind, messages });
            for (const message of deed.messages) events.push({ kind: "append", seq: nextSeq++, message });
          } else if (deed.kind === "rewind" || deed.kind === "edit") {
            noteHandles();
            const held = session.messages();
            if (deed.kind === "edit" && held.length === 0) continue;
            const toSeq =
              deed.kind === "rewind" ? (deed.which % (nextSeq + 1)) - 1 : held[deed.which % held.length]!.seq - 1;
            if (deed.kind === "rewind") {
              const { branchId } = (await act({ kind: "rewind", toSeq })) as ReturnType<Session["rewind"]>;
              if (branchId !== null) rewinds.push({ events, nextSeq, toSeq });
            } else {
              const messageId = held.find(({ seq }) => seq === toSeq + 1)!.id;
              await act({ kind: "edit", messageId, message: timed(deed.message, toSeq + 1) });
              rewinds.push({ events, nextSeq, toSeq });
            }
            events = upTo(events, toSeq);
            nextSeq = toSeq + 1;
            if (deed.kind === "edit") events.push({ kind: "append", seq: nextSeq++, message: deed.message });
            counts.rewinds += 1;
          } else if (deed.kind === "undo") {
            const last = rewinds.at(-1);
            // Messages come back after others were forgotten, which the oracle cannot repeat.
            if (last?.events.some(({ kind }) => kind === "forget")) continue;
            rewinds.pop();
            const { restoredCount } = (await act({ kind: "undo" })) as ReturnType<Session["undo"]>;
            expect(restoredCount > 0).toBe(last !== undefined);
            if (last === undefined) continue;
            // What the caller compacted among the superseded messages is not compacted again.
            const tail = last.events.filter((event) => event.kind === "append" && event.seq > last.toSeq);
            events = [...upTo(events, last.toSeq), ...tail];
            nextSeq = last.nextSeq;
            counts.undos += 1;
          } else if (deed.kind === "forget") {
            if (nextSeq === 0 || rewinds.length > 0) continue; // an undo would forget in another order than the oracle
            const [message] = session.messages({ seqFrom: deed.which % nextSeq, limit: 1 });
            if (message === undefined) continue;
            const { seq } = store.find(message.stepId); // the whole step is forgotten
            await act({ kind: "forget", seq });
            events.push({ kind: "forget", seq });
            expansions.clear();
          } else if (deed.kind === "compact") {
            await act({ kind: "compact" });
            events.push({ kind: "compact", nextSeq });
          } else if (deed.kind === "reembed") {
            noteHandles();
            await act(deed);
            events.push({ kind: "reembed", embedder: deed.embedder });
            counts.reembeds += 1;
          } else {
            await actor.open(path);
          }
        }
        for (const actor of actors) actor.close();
        const stores = [opened(path), opened(path)];
        for (const store of stores) {
          expect(store.verify()).toMatchObject({ ok: true, problems: [] });
          for (const [handle, members] of expansions) {
            expect(membersOf(store, handle), handle).toEqual(members);
            counts.handles += 1;
          }
        }
        counts.undoneRows += store.query("SELECT id FROM undone_unions").length;
        const oracle = await replayed(folder, events);
        for (const store of [stores[0]!, oracle]) store.verify({ rebuild: true }); // indexes the newest messages, too
        const expected = await seen(oracle, QUERIES);
        for (const store of stores) expect(await seen(store, QUERIES)).toEqual(expected);
        for (const opened of [store, ...stores, oracle]) opened.close();
      });
    }),
    { numRuns: runs, endOnFailure: true },
  );
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs / 4);
}

test("a rewound session is what it would be if the path alone had been appended", async () => {
  await compareWithPath(new OwnActor(), RUNS);
}, 240_000);

test("so it is if another process rewinds, appends and embeds anew, too", async () => {
  const other = new OtherActor();
  try {
    await compareWithPath(other, Math.ceil(RUNS / 5));
  } finally {
    other.end();
  }
}, 120_000);

function membersOf(store: Store, handle: string): number[] {
  return store.expand(handle, { limit: 1_000 }).members.map(({ id }) => id);
}

/** The events that a rewind leaves. */
function upTo(events: readonly PathEvent[], toSeq: number): PathEvent[] {
  return events.filter((event) => {
    if (event.kind === "reembed") return true;
    return event.kind === "compact" ? event.nextSeq <= toSeq + 1 : event.seq <= toSeq;
  });
}
