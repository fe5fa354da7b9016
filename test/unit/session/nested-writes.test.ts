import { expect, test } from "vitest";
import { type OpenOptions, type Session, type Store, StoreError } from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { inDatabase } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 2, overlap: 0, evictBatch: 2, maxThemes: 2, resolveTokensMin: 1 } as const;

/** Each writes to the session or the store. */
const WRITES: Record<string, (session: Session, store: Store) => unknown> = {
  append: (session) => session.append(user("inner")),
  "append six": (session) => session.append(Array.from({ length: 6 }, (_, index) => user(`inner ${index}`))),
  sync: (session) => session.sync([user("inner")]),
  edit: (session) => session.edit(session.messages({ last: 1 })[0]!.id, user("inner")),
  rewind: (session) => session.rewind({ toSeq: 1 }),
  undo: (session) => session.undo(),
  compact: (session) => session.compact(),
  fork: (session) => session.fork(),
  update: (session) => session.update({ title: "inner", addTags: ["inner"] }),
  pin: (session) => session.pin(session.messages({ last: 1 })[0]!.id),
  entries: (session) => session.entries.append([{ value: "inner" }]),
  "a new session": (_, store) => store.session("inner"),
  put: (_, store) => store.items.put(["inner"], "key", 1),
  forget: (session, store) => store.forget("s", { messageIds: [session.messages({ last: 1 })[0]!.id] }),
  "forget nothing": (_, store) => store.forget([]),
  rebuild: (_, store) => store.verify({ rebuild: true }),
  renameProject: (_, store) => store.renameProject("p", "inner"),
  exclude: (_, store) => store.exclude({ projects: ["inner"] }),
  atomically: (session, store) => store.atomically(() => session.append(user("inner"))),
};

/** What the store does when it calls the caller's functions. */
const CALLS: Record<string, (session: Session, store: Store) => unknown> = {
  append: (session) => session.append(user("A word about the harbor.")),
  "append many": (session) => session.append(talk(9)),
  sync: (session) => session.sync(talk(20)),
  edit: (session) => session.edit(session.messages({ last: 1 })[0]!.id, user("Another word.")),
  rewind: (session) => session.rewind({ toSeq: 5 }),
  compact: (session) => session.compact(),
  update: (session) => session.update({ addTags: ["tag"] }),
  fork: (session) => session.fork({ toSeq: 8 }),
  pin: (session) => session.pin(session.messages({ last: 1 })[0]!.id),
  "compact atomically": (session, store) => store.atomically(() => session.compact()),
  "append atomically": (session, store) => store.atomically(() => session.append(talk(5))),
  render: (session) => session.render({ tokensMax: 500, query: "harbor" }),
  "resolve dirty": (session) => session.resolveDirty(),
  upkeep: (_, store) => store.upkeep(),
  forget: (_, store) => store.forget("s", { messageIds: [3] }),
};

/** Calls `write` at one of its calls. */
interface Trap {
  at: number;
  write: () => unknown;
  thrown: unknown[];
}

const PORTS: Record<string, (call: () => void) => OpenOptions> = {
  clock: (call) => {
    let now = 1_700_000_000_000;
    return {
      clock: () => {
        call();
        now += 1_000;
        return now;
      },
    };
  },
  "token counter": (call) => ({
    tokenCounter: {
      name: "odd",
      count: (text) => {
        call();
        return Math.ceil(text.length / 4);
      },
    },
  }),
  embedder: (call) => ({
    embedder: {
      ...hashingEmbedder,
      embed: (text) => {
        call();
        return hashingEmbedder.embed(text);
      },
    },
  }),
  "name of the summarizer": (call) => ({
    summarizer: {
      promptVersion: 1,
      summarize: scriptedSummarizer("good").summarize,
      get id() {
        call();
        return "scripted";
      },
    },
  }),
};

/** Some writes are refused before that, because a transaction of the caller's is open. */
const isRefusal = (error: unknown): boolean =>
  StoreError.is(error, "WRITE_NESTED") || StoreError.is(error, "NOT_ATOMIC");

/** What the store shows of itself, whole. */
function shown(store: Store): unknown {
  return [[...store.export()], store.session("s").roots({ level: "cluster" }), store.exclude()];
}

/** One in so many pairs of a call and a write is tried, each of them several times. */
const SHARE = 11;

test.each(Object.keys(PORTS))("whatever writes within the %s is refused, and nothing is damaged", async (port) => {
  const refused = new Set<string>();
  const pairs = Object.keys(CALLS).flatMap((called) => Object.keys(WRITES).map((name) => ({ called, name })));
  for (const [index, { called, name }] of pairs.entries()) {
    if (index % SHARE !== 0) continue;
    let trap: Trap | undefined;
    const isCaught = index % 2 === 0;
    const options = PORTS[port]!(() => {
      if (trap === undefined || --trap.at > 0) return;
      const { write, thrown } = trap;
      trap = undefined;
      try {
        write();
      } catch (error) {
        thrown.push(error);
        if (!isCaught) throw error;
      }
    });
    const store = openedStore(":memory:", options);
    const session = store.session("s", { ...SMALL, project: "p" });
    session.append(talk(12));
    const before = shown(store);
    const thrown: unknown[] = [];
    trap = { at: 1 + (index % 3), write: () => WRITES[name]!(session, store), thrown };
    let failure: unknown;
    try {
      await CALLS[called]!(session, store);
    } catch (error) {
      failure = error;
    }
    trap = undefined;
    const place = `${name} in ${called}`;
    for (const error of failure === undefined ? thrown : [...thrown, failure]) {
      expect(isRefusal(error), `${place}: ${error}`).toBe(true);
    }
    if (failure !== undefined) expect(shown(store), place).toEqual(before);
    if (thrown.length > 0) refused.add(name);
    session.append(talk(4));
    session.render();
    expect(
      session.messages().filter(({ text }) => text.startsWith("inner")),
      place,
    ).toEqual([]);
    expect(store.verify().problems, place).toEqual([]);
    store.close();
  }
  expect(refused.size).toBeGreaterThan(1);
});

test("what the summarizer does is no part of a write, so it may write", async () => {
  const names = ["append six", "rewind", "edit", "compact", "forget"];
  for (const name of names) {
    const writes: (() => unknown)[] = [];
    const { summarize, ...summarizer } = scriptedSummarizer("good");
    const store = openedStore(":memory:", {
      summarizer: {
        ...summarizer,
        summarize: async (request) => {
          writes.pop()?.();
          return summarize(request);
        },
      },
    });
    const session = store.session("s", SMALL);
    session.append(talk(12));
    writes.push(() => WRITES[name]!(session, store));
    await session.resolveDirty();
    expect(writes).toEqual([]);
    session.append(talk(4));
    expect(store.verify().problems, name).toEqual([]);
  }
});

test("a write in `onUnreadable`, which runs within a read, is refused", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  for (const id of ["a", "b"]) store.session(id).append(talk(20));
  inDatabase(path, (database) => database.exec("UPDATE messages SET parts = '[{}]' WHERE session_id = 'a'"));
  const thrown: unknown[] = [];
  const onUnreadable = () => {
    try {
      store.session("b").append(user("inner"));
    } catch (error) {
      thrown.push(error);
    }
  };
  store.recap({ sinceMs: 0, onUnreadable });
  expect(thrown.map(isRefusal)).toEqual([true]);
});
