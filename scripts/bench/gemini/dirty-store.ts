import { geminiSummarizer, type OpenOptions, openStore, type Session, type Store } from "../../../src/index.ts";
import { conversation } from "../conversations.ts";
import { take } from "../messages.ts";

/** The calls that a model may answer at the same time. */
const CONCURRENCY = 10;
const MESSAGES = 300;

/** With these options, few messages stay out of the forest. */
const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 8, maxThemes: 10 };

export interface Dirty {
  store: Store;
  session: Session;
}

/** Opens a store with a session whose clusters have no summaries, and whose summarizer is a model at `baseUrl`. */
export function dirtyStore(path: string, baseUrl: string, options: OpenOptions = {}): Dirty {
  const store = openStore(path, {
    summarizer: geminiSummarizer({ apiKey: "loopback", baseUrl, concurrency: CONCURRENCY }),
    ...options,
  });
  const session = store.session("dirty", SETTINGS);
  session.append(take(conversation(1, { length: "real" }), MESSAGES));
  return { store, session };
}
