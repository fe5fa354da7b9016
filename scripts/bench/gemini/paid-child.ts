import { setTimeout as sleep } from "node:timers/promises";
import { geminiSummarizer, openStore, StoreError } from "../../../src/index.ts";
import { conversation } from "../conversations.ts";
import { take } from "../messages.ts";

const SESSIONS = ["one", "two", "three"];
const MESSAGES = 12;
const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 8 };
/** The speed of the clock, so that claims of a killed process expire within seconds. They still outlast a call of 300 ms. */
const CLOCK_FACTOR = 10;

// Resolves the sessions of the store `argv[2]` with the model at `argv[3]` and the key `argv[4]`, until it is killed. Also
// appends to them if `argv[5]` is "appends". Its clock runs fast from `argv[6]` on.
const [, , path, baseUrl, apiKey, role, startedAt] = process.argv;
const startedAtMs = Number(startedAt);
const clock = (): number => startedAtMs + CLOCK_FACTOR * (Date.now() - startedAtMs);
const store = openStore(path!, { summarizer: geminiSummarizer({ apiKey: apiKey!, baseUrl: baseUrl! }), clock });
const talks = SESSIONS.map((id, seed) => {
  return { session: store.session(id, SETTINGS), messages: conversation(seed, { length: "real" }) };
});
for (;;) {
  for (const { session, messages } of talks) {
    try {
      if (role === "appends") session.append(take(messages, MESSAGES));
      await session.resolveDirty({ concurrency: role === "appends" ? 2 : 4 });
    } catch (error) {
      if (!StoreError.is(error, "STORE_BUSY")) throw error;
    }
  }
  await sleep(10);
}
