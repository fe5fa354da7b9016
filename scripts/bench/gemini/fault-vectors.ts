import { type ErrorCode, geminiEmbedder, openStore, type Store } from "../../../src/index.ts";
import { TEST_KEY, TEST_TIMEOUT_MS } from "../../../test/support/gemini-faults.ts";
import { user } from "../../../test/support/said.ts";
import type { StartTrial } from "./faults.ts";

/** A time longer than any back-off, in milliseconds. */
const LATER_MS = 12 * 60 * 60 * 1_000;

/** Requests the due vectors of two messages. Half a day later, another store asks again. */
export const vectorTrial: StartTrial = (server, path) => {
  let nowMs = Date.now();
  const open = (): Store => {
    const embedder = geminiEmbedder({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: TEST_TIMEOUT_MS });
    return openStore(path, { embedder, clock: () => nowMs });
  };
  const inStore = async <T>(act: (store: Store) => T | Promise<T>): Promise<T> => {
    const store = open();
    try {
      return await act(store);
    } finally {
      store.close();
    }
  };
  return {
    open,
    fail: () =>
      inStore(async (store) => {
        store.session("s").append([user("the harbor lens is cracked"), user("bread wants an hour")]);
        await store.upkeep({ only: "vectors" });
        const [row] = store.query("SELECT error_code FROM vectors_pending WHERE error IS NOT NULL LIMIT 1");
        return row?.error_code as ErrorCode | undefined;
      }),
    heal: () => {
      nowMs += LATER_MS;
      return inStore(async (store) => {
        const { embedded, waiting } = await store.upkeep({ only: "vectors" });
        return embedded === 2 && waiting === 0 && store.stats().pendingVectorCount === 0;
      });
    },
  };
};
