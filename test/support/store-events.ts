import { type MessageInput, openStore, type Store } from "../../src/index.ts";
import { inDatabase } from "./rows.ts";
import { talk, user } from "./said.ts";
import { scriptedSummarizer } from "./scripted-summarizer.ts";

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 1, openClustersMax: 2, resolveTokensMin: 50 };

/** One thing that can happen to a store, and the file it happens to. */
export interface StoreEvent {
  prepare(store: Store, path: string): unknown;
  happen(store: Store): unknown;
}

/** The same at every opening, so that what happens twice writes the same rows. */
export function openForEvent(path: string): Store {
  return openStore(path, { clock: () => 1_700_000_000_000, summarizer: scriptedSummarizer("good") });
}

const long: MessageInput = user("a long string is kept apart ".repeat(1_000));

async function summarized(store: Store): Promise<void> {
  const session = store.session("s", SETTINGS);
  session.appendAll(talk(20));
  await session.resolveDirty();
}

/** One for each function of store/write.ts, through the calls that lead to it. */
export const STORE_EVENTS: Record<string, StoreEvent> = {
  "a session is made": {
    prepare: () => {},
    happen: (store) => store.session("s", SETTINGS),
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
    prepare: (store) => store.session("s", SETTINGS).appendAll(talk(18, 3)),
    happen: (store) => store.session("s").appendAll([long, user("the last of a batch")]),
  },
  "a session is compacted, and takes in a summary": {
    prepare: summarized,
    happen: (store) => store.session("s").compact(),
  },
  "a theme is summarized": {
    prepare: (store) => store.session("s", SETTINGS).appendAll(talk(20)),
    happen: (store) => store.session("s").resolveDirty(),
  },
  "derived rows are rebuilt": {
    prepare: (store, path) => {
      store.session("s", SETTINGS).appendAll(talk(12));
      inDatabase(path, (database) =>
        database.exec("DELETE FROM themes; DELETE FROM clusters; UPDATE messages SET parent_id = id"),
      );
    },
    happen: (store) => store.verify({ rebuild: true }),
  },
};
