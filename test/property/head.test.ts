import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageInput, Session, Store } from "../../src/index.ts";
import { runs } from "../support/effort.ts";
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
import { repeatedIds, SUBJECTS, subjectText } from "../support/message-arbitraries.ts";
import { assistant, calls, results, user } from "../support/said.ts";
import { inFolderAsync } from "../support/temporary-store.ts";

type Deed = { on: number } & (
  | { kind: "append" | "batch"; messages: MessageInput[]; by: number }
  | { kind: "rewind"; which: number; by: number }
  | { kind: "forget"; which: number; by: number }
  | { kind: "fork"; which: number; by: number }
  | { kind: "edit"; which: number; message: MessageInput; by: number }
  | { kind: "reembed"; embedder: string; by: number }
  | { kind: "compact" | "reopen" | "undo"; by: number }
);

/** A session and the list of what makes its path. */
interface Line {
  id: string;
  parent: Line | undefined;
  /** The last seq that it shares with its parent; -1 if it is no fork. */
  shared: number;
  events: PathEvent[];
  nextSeq: number;
  rewinds: { events: PathEvent[]; nextSeq: number; toSeq: number }[];
}

/** `HEAD_RUNS=1000 COPPICE_SEED=random npx vitest run test/property/head.test.ts` takes a quarter of an hour. */
const RUNS = Number(process.env.HEAD_RUNS ?? Math.max(5, runs(13)));

const QUERIES = SUBJECTS.map((subject) => subject.split(" ").slice(0, 3).join(" "));
const utterance: fc.Arbitrary<MessageInput[]> = fc.oneof(
  { weight: 6, arbitrary: subjectText.map((words) => [user(words)]) },
  { weight: 6, arbitrary: subjectText.map((words) => [assistant(words)]) },
  { weight: 1, arbitrary: subjectText.map((words) => [user(words, { pinned: words.length % 3 === 0, name: "Ines" })]) },
  {
    weight: 5,
    arbitrary: fc.tuple(repeatedIds, subjectText).map(([called, words]) => [calls(called), results(called, words)]),
  },
  { weight: 3, arbitrary: repeatedIds.map((called) => [calls(called), ...called.map((id) => results([id], "done"))]) },
  { weight: 2, arbitrary: repeatedIds.map((called) => [calls(called)]) },
  { weight: 1, arbitrary: fc.constant<MessageInput[]>([{ role: "system", content: "Be brief." }]) },
);
const utterances = fc.array(utterance, { minLength: 1, maxLength: 14, size: "max" }).map((messages) => messages.flat());
const by = fc.nat(1);
const on = fc.nat(4);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("append" as const), messages: utterances, by, on }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("batch" as const), messages: utterances, by, on }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("rewind" as const), which: fc.nat(), by, on }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("undo" as const), by, on }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      which: fc.nat(),
      message: subjectText.map((words) => user(words)),
      by,
      on,
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("fork" as const), which: fc.nat(), by, on }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("forget" as const), which: fc.nat(), by, on }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("reembed" as const), embedder: fc.constantFrom(...EMBEDDERS), by, on }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("compact" as const, "reopen" as const), by, on }) },
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
  readonly #child = fork(fileURLToPath(new URL("../support/head-child.ts", import.meta.url)));
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
async function compareWithPath(other: Actor, numRuns: number): Promise<void> {
  const counts = {
    forks: 0,
    forksOfForks: 0,
    forgets: 0,
    refusals: 0,
    rewinds: 0,
    undos: 0,
    undoneRows: 0,
    handles: 0,
    reembeds: 0,
  };
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 3, maxLength: 24, size: "max" }), async (deeds) => {
      await inFolderAsync(async (folder) => {
        const path = join(folder, "agent.db");
        const store = numberedStore(path);
        const actors = [new OwnActor(), other];
        for (const actor of actors) await actor.open(path);
        store.session("s", SMALL_WINDOW);
        const lines: Line[] = [{ id: "s", parent: undefined, shared: -1, events: [], nextSeq: 0, rewinds: [] }];
        const expansions = new Map<string, number[]>();
        const noteHandles = (): void => {
          for (const { id } of lines) {
            const session = store.resume(id);
            for (const { root } of [...session.roots(), ...session.roots({ level: "cluster" })]) {
              expansions.set(root, membersOf(store, root));
            }
          }
        };
        for (const deed of deeds) {
          const actor = actors[deed.by]!;
          const line = lines[deed.on % lines.length]!;
          const session = store.resume(line.id);
          // The other may have changed the embedder.
          const act = (action: Action): Promise<unknown> =>
            actor.act({ ...action, session: line.id }).catch(async (error: Error) => {
              if (!String(error).includes("it was opened with")) throw error;
              await actor.open(path);
              return actor.act({ ...action, session: line.id });
            });
          /** Returns true after the refusal of an action that would change what a fork shares. */
          const isRefused = async (action: Action, toSeq: number): Promise<boolean> => {
            const isPast = toSeq < line.shared;
            if (!isPast && !lines.some((other) => sharedOf(other, line) > toSeq)) return false;
            await expect(act(action)).rejects.toThrow(isPast ? /fork session/ : /shares messages/);
            counts.refusals += 1;
            return true;
          };
          if (deed.kind === "append" || deed.kind === "batch") {
            const messages = deed.messages.map((message, index) => timed(message, line.nextSeq + index));
            await act({ kind: deed.kind, messages });
            for (const message of deed.messages) line.events.push({ kind: "append", seq: line.nextSeq++, message });
          } else if (deed.kind === "rewind" || deed.kind === "edit") {
            noteHandles();
            const held = session.messages();
            if (deed.kind === "edit" && held.length === 0) continue;
            const toSeq =
              deed.kind === "rewind" ? (deed.which % (line.nextSeq + 1)) - 1 : held[deed.which % held.length]!.seq - 1;
            const edited = held.find(({ seq }) => seq === toSeq + 1);
            const action: Action =
              deed.kind === "rewind"
                ? { kind: "rewind", toSeq }
                : { kind: "edit", messageId: edited!.id, message: timed(deed.message, toSeq + 1) };
            if (toSeq < line.nextSeq - 1 && (await isRefused(action, toSeq))) continue;
            const rewound = (await act(action)) as ReturnType<Session["rewind"]>;
            if (deed.kind === "edit" || rewound.branchId !== null) {
              line.rewinds.push({ events: line.events, nextSeq: line.nextSeq, toSeq });
            }
            line.events = upTo(line.events, toSeq);
            line.nextSeq = toSeq + 1;
            if (deed.kind === "edit") line.events.push({ kind: "append", seq: line.nextSeq++, message: deed.message });
            counts.rewinds += 1;
          } else if (deed.kind === "undo") {
            const last = line.rewinds.at(-1);
            // Messages come back after others were forgotten, which the oracle cannot repeat.
            if (last?.events.some(({ kind }) => kind === "forget")) continue;
            if (last !== undefined && (await isRefused({ kind: "undo" }, last.toSeq))) continue;
            line.rewinds.pop();
            const { restoredCount } = (await act({ kind: "undo" })) as ReturnType<Session["undo"]>;
            expect(restoredCount > 0).toBe(last !== undefined);
            if (last === undefined) continue;
            // What the caller compacted before the messages that come back stays so, and among them nothing is compacted again.
            const tail = last.events.filter((event) => event.kind === "append" && event.seq > last.toSeq);
            line.events = [...upTo(line.events, last.toSeq), ...tail];
            line.nextSeq = last.nextSeq;
            counts.undos += 1;
          } else if (deed.kind === "fork") {
            if (line.nextSeq === 0 || lines.length === 5) continue;
            const toSeq = deed.which % line.nextSeq;
            const id = `f${lines.length}`;
            const isMade = await act({ kind: "fork", toSeq, id }).then(
              () => true,
              (error: Error) => {
                expect(String(error)).toMatch(/whose tool calls are all answered|took their places/);
                return false;
              },
            );
            if (!isMade) continue;
            const events = upTo(line.events, toSeq);
            lines.push({ id, parent: line, shared: toSeq, events, nextSeq: toSeq + 1, rewinds: [] });
            counts.forks += 1;
            if (line.parent !== undefined) counts.forksOfForks += 1;
          } else if (deed.kind === "forget") {
            // An undo would forget in another order than the oracle.
            if (line.nextSeq === 0 || line.rewinds.length > 0) continue;
            const own = 1 + Math.max(line.shared, ...lines.map((other) => sharedOf(other, line)));
            const from = deed.which % 4 === 0 ? 0 : Math.min(own, line.nextSeq - 1); // mostly what no other session shares
            const seqFrom = from + (deed.which % (line.nextSeq - from));
            const [message] = session.messages({ seqFrom, limit: 1 });
            if (message === undefined) continue;
            const { seq } = store.expand(message.stepId, { level: "step" }).members[0]!; // the whole step is forgotten
            const isPast = seq <= line.shared;
            if (isPast || lines.some((other) => sharedOf(other, line) >= seq)) {
              await expect(act({ kind: "forget", seq })).rejects.toThrow(/shares messages/);
              counts.refusals += 1;
              continue;
            }
            await act({ kind: "forget", seq });
            line.events.push({ kind: "forget", seq });
            if (lines.length > 1) counts.forgets += 1; // beside forks
            expansions.clear();
          } else if (deed.kind === "compact") {
            await act({ kind: "compact" });
            line.events.push({ kind: "compact", nextSeq: line.nextSeq });
          } else if (deed.kind === "reembed") {
            noteHandles();
            await act(deed);
            for (const { events } of lines) events.push({ kind: "reembed", embedder: deed.embedder });
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
        stores[0]!.verify({ rebuild: true }); // indexes the newest messages, too
        for (const { id, events, shared } of lines) {
          const oracle = await replayed(folder, events, id);
          oracle.verify({ rebuild: true });
          const asked = { id, shared: lines.length === 1 ? null : shared };
          const expected = await seen(oracle, QUERIES, asked);
          for (const store of stores) expect(await seen(store, QUERIES, asked), id).toEqual(expected);
          oracle.close();
        }
        for (const opened of [store, ...stores]) opened.close();
      });
    }),
    { numRuns, endOnFailure: true },
  );
  if (numRuns < 25) return; // too few to expect each
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(numRuns / 20);
}

test(
  "a rewound session is what it would be if the path alone had been appended",
  async () => {
    await compareWithPath(new OwnActor(), RUNS);
  },
  Math.max(240_000, 5_000 * RUNS),
);

test(
  "so it is if another process rewinds, appends and embeds anew, too",
  async () => {
    const other = new OtherActor();
    try {
      await compareWithPath(other, Math.ceil(RUNS / 5));
    } finally {
      other.end();
    }
  },
  Math.max(120_000, 2_000 * RUNS),
);

/** The last seq of what a line shares with another one; -1 if it shares nothing. */
function sharedOf(line: Line, other: Line): number {
  let shared = Number.MAX_SAFE_INTEGER;
  for (let at: Line | undefined = line; at !== undefined && at !== other; at = at.parent) {
    shared = Math.min(shared, at.shared);
    if (at.parent === other) return shared;
  }
  return -1;
}

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
