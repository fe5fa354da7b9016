import { expect, test } from "vitest";
import { geminiEmbedder, type Store } from "../../../src/index.ts";
import { someOf } from "../../support/effort.ts";
import { EMBEDDING_FAULTS, TEST_KEY, TEST_TIMEOUT_MS } from "../../support/gemini-faults.ts";
import { type GeminiServer, geminiServer } from "../../support/gemini-server.ts";
import { talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

let now = 1_700_000_000_000;

function open(path: string, server: GeminiServer): Store {
  const embedder = geminiEmbedder({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: TEST_TIMEOUT_MS });
  return openedStore(path, { embedder, clock: () => now });
}

test.each(someOf(Object.entries(EMBEDDING_FAULTS), 5))(
  "%s: messages go on waiting, the store is whole, and a later call heals it",
  async (_, { reply, code }) => {
    const server = await geminiServer(reply);
    const path = temporaryPath();
    const store = open(path, server);
    const session = store.session("s");
    session.append([user("the harbor lens is cracked"), user("bread wants an hour")]);

    const { error, ...counts } = await store.embedPending();
    expect(counts).toMatchObject({ embedded: 0, refused: 0, waiting: 2 });
    const [row] = store.query("SELECT error_code, error FROM vectors_pending WHERE error IS NOT NULL LIMIT 1");
    expect(row).toMatchObject({ error_code: code });
    expect(`${row!.error} ${String(error)} ${JSON.stringify(error)}`).not.toContain(TEST_KEY);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
    expect((await store.recall("harbor lens"))[0]).toMatchObject({ seq: 0 });
    expect(session.append(user("and on it goes")).seq).toBe(2);
    store.close();

    server.script("good");
    now += 3_600_000;
    const next = open(path, server);
    expect(await next.embedPending()).toMatchObject({ embedded: 3, waiting: 0 });
    expect(next.stats()).toMatchObject({ pendingVectorCount: 0, failedVectorCount: 0, withoutVectorCount: 0 });
    expect(next.verify()).toMatchObject({ ok: true, problemCount: 0 });
  },
);

test("a session grows by what the service's vectors say, and is found by them", async () => {
  const server = await geminiServer("good");
  const store = open(temporaryPath(), server);
  const session = store.session("s", { hotSize: 4, overlap: 0, evictBatch: 6 });
  for (const message of talk(48)) {
    session.append(message);
    if (session.messages().length % 10 === 0) await session.resolveDirty();
  }
  await session.resolveDirty();
  session.compact();
  expect(store.query("SELECT sum(vector_count) AS n FROM clusters")).toEqual([{ n: 44 }]);
  expect(store.verify()).toMatchObject({ ok: true });
  const [hit] = await store.recall("thumbnails of large photographs", { explain: true });
  expect(hit!.text).toContain("Thumbnails");
  const vector = await store.embedQuery("thumbnails of large photographs");
  expect(store.nearestRoots(vector!, { k: 1 })).toHaveLength(1);
});
