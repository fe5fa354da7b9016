import { type ErrorCode, geminiSummarizer, openStore, type Store } from "../../../src/index.ts";
import { TEST_KEY, TEST_TIMEOUT_MS } from "../../../test/support/gemini-faults.ts";
import { conversation } from "../conversations.ts";
import { take } from "../messages.ts";
import type { StartTrial } from "./faults.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 8, maxThemes: 1, resolveTokensMin: 100 };
const MESSAGES = 60;
/** A time longer than any back-off, in milliseconds. */
const LATER_MS = 12 * 60 * 60 * 1_000;

/** Lets the model summarize clusters. Half a day later, when they have grown, another store asks again. */
export const summaryTrial: StartTrial = (server, path) => {
  const messages = conversation(1);
  let nowMs = Date.now();
  const open = (): Store => {
    const summarizer = geminiSummarizer({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: TEST_TIMEOUT_MS });
    return openStore(path, { summarizer, clock: () => nowMs });
  };
  const resolve = async (): Promise<Store> => {
    const store = open();
    const session = store.session("s", SETTINGS);
    session.append(take(messages, MESSAGES));
    await session.resolveDirty();
    return store;
  };
  return {
    open,
    async fail() {
      const store = await resolve();
      const [row] = store.query("SELECT error_code FROM summaries WHERE stands_in = 0 ORDER BY id DESC LIMIT 1");
      store.close();
      return row?.error_code as ErrorCode | undefined;
    },
    async heal() {
      nowMs += LATER_MS;
      const store = await resolve();
      const [row] = store.query("SELECT status FROM summaries WHERE stands_in = 0 ORDER BY id DESC LIMIT 1");
      store.close();
      return row?.status === "done";
    },
  };
};
