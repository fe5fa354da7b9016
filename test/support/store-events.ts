import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { importRows } from "../../src/imports/import-rows.ts";
import { type MessageInput, type OpenOptions, openStore, type Store } from "../../src/index.ts";
import { allRows, inDatabase, inSealed } from "./rows.ts";
import { talk, user } from "./said.ts";
import { refused, scriptedEmbedder } from "./scripted-embedder.ts";
import { scriptedSummarizer } from "./scripted-summarizer.ts";

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 1, openClustersMax: 2, resolveTokensMin: 50 };

/** With room for all clusters, so that none settles and none gets a place among the subjects, too. */
const FLAT = { strategy: "flat", contextTokensMax: 500, openClustersMax: 64 } as const;

/** One thing that can happen to a store, and the file it happens to. */
export interface StoreEvent {
  prepare(store: Store, path: string): unknown;
  happen(store: Store): unknown;
  /** The rows that change in one step; all of them unless given. */
  rowsOf?(path: string): string[];
  /** Other than those of `openForEvent`. */
  options?: OpenOptions;
  /** Whether an upkeep is in it: whatever fails in one of its parts, the others are done, and a caller need not hear of it. */
  isUpkeep?: boolean;
}

/** The same at every opening, so that what happens twice writes the same rows. */
export function openForEvent(path: string, options: OpenOptions = {}): Store {
  return openStore(path, { clock: () => 1_700_000_000_000, summarizer: scriptedSummarizer("good"), ...options });
}

const long: MessageInput = user("a long string is kept apart ".repeat(1_000));

/** A file with the rows of a session of another store, beside the store to which it will come. */
function elsewhere(path: string, count: number): void {
  const folder = dirname(path);
  const other = openForEvent(join(folder, `elsewhere-${count}.db`));
  other.session("moving", SETTINGS).append(talk(count));
  writeFileSync(join(folder, "moved.rows"), [...other.export({ rows: true })].map((line) => `${line}\n`).join(""));
  other.close();
}

async function summarized(store: Store): Promise<void> {
  const session = store.session("s", SETTINGS);
  session.append(talk(20));
  await session.resolveDirty();
}

/** A session whose `flat` context is full, and nothing else is left to do. */
function full(store: Store): void {
  store.session("s", { ...SETTINGS, ...FLAT }).append(talk(20));
  store.verify({ rebuild: true }); // indexes
}

/** Sessions of one project about the same, and a day has passed since, so that an upkeep lets them rest. */
function past(store: Store, ...sessionIds: string[]): void {
  const createdAt = 1_700_000_000_000 - 2 * 86_400_000;
  for (const id of sessionIds) {
    const session = store.session(id, { ...SETTINGS, project: "p" });
    session.append(talk(14).map((message) => ({ ...message, createdAt })));
  }
}

async function inSubjects(store: Store): Promise<void> {
  past(store, "a", "b", "c");
  await store.upkeep();
}

/** The first forgetting gives a store a random key, in which copies would differ. */
async function inSubjectsWithKey(store: Store): Promise<void> {
  await inSubjects(store);
  store.session("gone", SETTINGS).append(user("never mind"));
  store.forget("gone");
}

/** An upkeep that is stopped after its first transaction: the next session that is due rests. */
async function restOne(store: Store): Promise<void> {
  const controller = new AbortController();
  const upkeep = store.upkeep({ signal: controller.signal });
  const enough = new Error("one transaction is enough");
  controller.abort(enough);
  await upkeep.catch((error: unknown) => {
    if (error !== enough) throw error;
  });
}

/** Messages wait for vectors, and it is known who asks for them only to those who do. */
const REMOTE: Pick<StoreEvent, "options" | "rowsOf"> = {
  options: { embedder: scriptedEmbedder() },
  rowsOf: (path) => allRows(path).map((row) => row.replace(/^("pending_vectors": .*),[^,]*,[^,]*$/, "$1")),
};

const REFUSING: Pick<StoreEvent, "options" | "rowsOf"> = {
  ...REMOTE,
  options: {
    embedder: Object.assign(scriptedEmbedder(), {
      before: () => {
        throw refused(401);
      },
    }),
  },
};

/** One for each function of store/changes/write.ts, through the calls that lead to it. */
export const STORE_EVENTS: Record<string, StoreEvent> = {
  "a session comes from another store": {
    prepare(store, path) {
      for (const _ of store.export({ rows: true, sessions: [], ownIds: true }));
      store.session("own", SETTINGS).append(talk(4));
      elsewhere(path, 8);
    },
    happen: (store) => importRows(store, join(dirname(store.path), "moved.rows")),
  },
  "a session is made": {
    prepare: () => {},
    happen: (store) => store.session("s", SETTINGS),
  },
  "two projects become one": {
    async prepare(store) {
      await inSubjects(store);
      store.session("other", { ...SETTINGS, project: "q" });
    },
    happen: (store) => store.renameProject("p", "q", { merge: true }),
  },
  "a session gets other settings": {
    prepare: (store) => store.session("s", SETTINGS),
    happen: (store) => store.session("s", { hotSize: 9 }),
  },
  "a message is appended": {
    prepare: (store) => store.session("s", SETTINGS),
    happen: (store) => store.session("s").append(long),
  },
  "a message is appended that moves the frontier": {
    prepare: (store) => store.session("s", SETTINGS).append(talk(18, 3)),
    happen: (store) => store.session("s").append([long, user("the last of a batch")]),
  },
  "a session is compacted, and takes in a summary": {
    prepare: summarized,
    happen: (store) => store.session("s").compact(),
  },
  "a theme is summarized": {
    // With room for all clusters, so that none has settled and none gets a place among the subjects, too.
    prepare: (store) => {
      store.session("s", { ...SETTINGS, openClustersMax: 64 }).append(talk(20));
      store.verify({ rebuild: true }); // indexes, so that nothing else is left to do
    },
    happen: (store) => store.session("s").resolveDirty(),
    rowsOf: rowsButClaims,
    isUpkeep: true,
  },
  "a stretch of a session is summarized": {
    prepare: full,
    happen: (store) => store.session("s").resolveDirty(),
    rowsOf: rowsButClaims,
    isUpkeep: true,
  },
  "a stretch of a session is to be summarized": {
    prepare: full,
    happen: (store) => store.session("s").compact(),
  },
  "a summary goes that is not of its stretch": {
    prepare: async (store, path) => {
      full(store);
      await store.session("s").resolveDirty();
      inSealed(path, (database) => database.exec("UPDATE summaries SET message_count = 1, checksum = -1"));
    },
    happen: (store) => store.verify({ rebuild: true }),
  },
  "a session comes to rest": {
    prepare: (store) => past(store, "a"),
    happen: restOne,
    isUpkeep: true,
  },
  "settled clusters come to their places among the subjects": {
    prepare: async (store) => {
      past(store, "a", "b");
      await restOne(store);
      await restOne(store);
      store.verify({ rebuild: true }); // indexes, so that nothing else is left to do
    },
    happen: (store) => store.upkeep(),
    rowsOf: rowsButAwake,
    isUpkeep: true,
  },
  "a session gets its project, and its clusters lose their places": {
    prepare: async (store) => {
      store.session("d", SETTINGS).append(talk(14));
      await inSubjects(store);
    },
    happen: (store) => store.session("d", { project: "p" }),
  },
  "a message is appended that waits for its vector": {
    ...REMOTE,
    prepare: (store) => store.session("s", SETTINGS),
    happen: (store) => store.session("s").append(long),
  },
  "messages go into the forest without their vectors": {
    ...REMOTE,
    prepare: (store, path) => {
      store.session("s", SETTINGS).append(talk(6));
      inDatabase(path, (database) => database.exec("UPDATE pending_vectors SET due_since_ms = 0"));
    },
    happen: (store) => store.session("s").append(user("one too many")),
  },
  "vectors come": {
    ...REMOTE,
    prepare: (store) => store.session("s", SETTINGS).append(talk(5)),
    happen: (store) => store.upkeep({ only: "vectors", concurrency: 1 }),
  },
  "an account is refused": {
    ...REFUSING,
    prepare: (store) => store.session("s", SETTINGS).append(talk(5)),
    happen: (store) => store.upkeep({ only: "vectors", concurrency: 1 }),
  },
  "a session goes back": {
    prepare: (store) => store.session("s", SETTINGS).append(talk(24, 3)),
    happen: (store) => store.session("s").rewind({ toSeq: 13 }),
    rowsOf: rowsButBranchId,
  },
  "a rewind is taken back": {
    prepare: (store) => {
      const session = store.session("s", SETTINGS);
      session.append(talk(20, 3));
      session.rewind({ toSeq: 13 });
      session.append(talk(3));
    },
    happen: (store) => store.session("s").undo(),
    rowsOf: rowsButBranchId,
  },
  "a message is replaced by another": {
    prepare: (store) => store.session("s", SETTINGS).append(talk(16)),
    happen: (store) => {
      const session = store.session("s");
      const [message] = session.messages({ seqFrom: 13, limit: 1 });
      if (message?.text !== "said otherwise") session.edit(message!.id, user("said otherwise"));
    },
    rowsOf: rowsButBranchId,
  },
  "entries are appended, and one is replaced": {
    prepare: (store) => store.session("s", SETTINGS).entries.append([{ id: "e1", value: { n: 1 } }]),
    happen: (store) => {
      const entries = [{ id: "e1", value: { n: 2 } }, { value: "long ".repeat(2_000) }];
      store.session("s").entries.append(entries, { known: "replace" });
    },
  },
  "an item is put": {
    prepare: (store) => store.items.put(["app"], "other", 1),
    happen: (store) => store.items.put(["app"], "key", { n: 1 }),
  },
  "messages, an entry and items are written atomically": {
    prepare: (store) => {
      store.session("s", SETTINGS).append(talk(18, 3));
      store.items.put(["app"], "known", 1);
      store.items.put(["app"], "old", 1);
    },
    happen: (store) =>
      store.atomically(() => {
        const session = store.session("s");
        session.append([long, user("the last of a batch")]);
        session.entries.append([{ value: { n: 1 } }]);
        store.items.put(["app"], "known", 2);
        store.items.delete(["app"], "old");
        store.session("made inside", SETTINGS).append(user("hello"));
      }),
  },
  "derived rows are rebuilt": {
    prepare: (store, path) => {
      store.session("s", SETTINGS).append(talk(12));
      store.verify({ rebuild: true });
      inDatabase(path, (database) =>
        database.exec("DELETE FROM themes; DELETE FROM clusters; UPDATE messages SET parent_id = id"),
      );
    },
    happen: (store) => store.verify({ rebuild: true }),
  },
  "messages come into the full-text index": {
    prepare: (store) => {
      store.session("s", SETTINGS).append(user("indexed before the others"));
      store.verify({ rebuild: true });
      store.session("s").append([long, user("ok"), user("...")]);
    },
    happen: (store) => store.session("s").resolveDirty(),
    isUpkeep: true,
  },
  "the full-text index is made anew": {
    prepare: (store, path) => {
      store.session("s", SETTINGS).append([user("the first of three"), user("a second one"), user("third and last")]);
      store.verify({ rebuild: true });
      inDatabase(path, (database) => database.exec("DELETE FROM messages_fts WHERE rowid = 1"));
    },
    happen: (store) => store.verify({ rebuild: true }),
  },
};

/**
 * Which sessions may sleep is noted before their clusters come to their places, and how far the scrub came after that. The scrub has so
 * many milliseconds, so its place and the number of its reads differ from run to run.
 */
function rowsButAwake(path: string): string[] {
  return allRows(path).filter((row) => !/^"(?:awake_sessions"|store_settings": 'scrub',)/.test(row));
}

/** A claim is a step of its own, which gives a number away; who dies leaves it behind, and it runs out. */
function rowsButClaims(path: string): string[] {
  return allRows(path)
    .filter((row) => !/^"(?:span_)?summaries": .*,'claimed',/.test(row) && !row.startsWith('"sqlite_sequence"'))
    .map((row) => row.replace(/^("(?:span_)?summaries": )\d+,(.*),\d+$/, "$1$2"));
}

/** The id of a branch is random, and so are the checksums of rows with the id. */
function rowsButBranchId(path: string): string[] {
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const masked = (row: string): string =>
    row.search(id) === -1 ? row : row.replace(id, "ID").replace(/\b\d{5,10}\b/g, "N");
  return allRows(path).map(masked).sort();
}

/** As one does whose try failed: what is forgotten already need only be erased. */
function forgetOnce(store: Store, sessionId: string, messageIds?: readonly number[]): void {
  const [{ isThere }] = store.query(
    `SELECT count(*) AS isThere FROM messages WHERE session_id = '${sessionId}' AND id >= ${messageIds?.[0] ?? 0}
     AND id <= ${messageIds?.at(-1) ?? "id"}`,
  ) as [{ isThere: number }];
  if (isThere === 0) store.forget([]);
  else store.forget(sessionId, messageIds === undefined ? {} : { messageIds });
}

/** Clearing the full-text index, and erasing, which is noted as due, are steps of their own. */
function rowsButErased(path: string): string[] {
  return allRows(path).filter((row) => !/^"(?:messages_fts|store_settings": 'eraseDue',)/.test(row));
}

/** The functions of store/changes/forget.ts. What they write is in no write-ahead log afterwards: they end with a file made anew. */
export const FORGET_EVENTS: Record<string, StoreEvent> = {
  "a session is forgotten, and with it its part in subjects": {
    prepare: inSubjectsWithKey,
    happen: (store) => forgetOnce(store, "b"),
    rowsOf: rowsButErased,
  },
  "messages are forgotten, and with them their part in subjects": {
    prepare: inSubjectsWithKey,
    happen: (store) => forgetOnce(store, "a", [1, 2]),
    rowsOf: rowsButErased,
  },
};
