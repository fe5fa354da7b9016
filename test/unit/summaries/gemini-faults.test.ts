import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { geminiSummarizer, type Session } from "../../../src/index.ts";
import { ANSWER_FAULTS, GENERATION_FAULTS, TEST_KEY, TEST_TIMEOUT_MS } from "../../support/gemini-faults.ts";
import { failure, geminiServer } from "../../support/gemini-server.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50, summaryTokensMax: 60 };
const NONE = { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
const HOUR_MS = 60 * 60 * 1_000;

test.each(Object.entries({ ...GENERATION_FAULTS, ...ANSWER_FAULTS }))(
  "%s: the cluster says why it has no summary, the store is whole, and a later call heals it",
  async (_, { reply, code, details }) => {
    const server = await geminiServer(reply, "good");
    const summarizer = geminiSummarizer({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: TEST_TIMEOUT_MS });
    const path = temporaryPath();
    let nowMs = 1_700_000_000_000;
    const open = () => openedStore(path, { summarizer, clock: () => nowMs });
    const store = open();
    const session = store.session("s", SETTINGS);
    session.append(talk(40, 100));
    session.compact();

    const status = code === "MODEL_REFUSED" ? "parked" : "failed";
    expect(await session.resolveDirty()).toEqual({ ...NONE, [status]: 1 });
    expect(server.requests).toHaveLength(1);
    const [row, ...others] = store.query("SELECT status, error, error_code, next_try_at_ms, stands_in FROM summaries");
    expect(row).toMatchObject({ status, error_code: code, stands_in: 0 });
    expect(row!.error).toContain(details.reason);
    expect(row!.error).not.toContain(TEST_KEY);
    expect(others).toEqual([]); // contexts quote the messages, so nothing stands in
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
    session.compact();
    const shown = session.render({ tokensMax: 4_000 });
    expect(shown.tokenCount).toBeLessThanOrEqual(4_000);
    const named = [...shown.sources, ...shown.omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
    expect(named).toBe(session.messages().length);

    // At once nobody is asked again; then what failed is tried again, and what was refused once it is another request.
    expect(await session.resolveDirty()).toEqual({ ...NONE, [status === "parked" ? "parked" : "deferred"]: 1 });
    expect(server.requests).toHaveLength(1);
    const isOfContent = row!.next_try_at_ms === null;
    if (isOfContent) session.append(talk(12, 100));
    else if (status === "failed") nowMs += HOUR_MS;
    await sleep(details.retryAfterMs ?? 0); // the client counts by the real clock
    const healing = status === "parked" && !isOfContent ? open().resume("s") : session;
    expect(await healing.resolveDirty()).toMatchObject({ resolved: 1, failed: 0, parked: 0 });
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
    session.compact();
    expect(session.roots().flatMap(({ summaries }) => summaries!.map(({ summarizerId }) => summarizerId))).toEqual([
      summarizer.id,
    ]);
  },
);

test.each<[string, ReturnType<typeof failure>, "parked" | "failed"]>([
  ["the key is refused", failure(401, "UNAUTHENTICATED", "No credentials."), "parked"],
  ["the quota is used up", failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded."), "failed"],
])("where %s, no other summary is asked for", async (_, reply, status) => {
  const server = await geminiServer(reply);
  const summarizer = geminiSummarizer({ apiKey: TEST_KEY, baseUrl: server.url });
  const store = openedStore(temporaryPath(), { summarizer, clock: () => 1_700_000_000_000 });
  const sessions = ["s", "t"].map((id) => store.session(id, SETTINGS));
  for (const session of sessions) session.append(talk(40, 100));
  const [first, second] = sessions as [Session, Session];
  expect(await first.resolveDirty()).toEqual({ ...NONE, [status]: 1 });
  expect(server.requests).toHaveLength(1);
  expect(await second.resolveDirty()).toEqual({ ...NONE, deferred: 1 });
  const again = await first.resolveDirty();
  expect(again.resolved + again.failed).toBe(0);
  expect(again.parked + again.deferred).toBe(1);
  expect(server.requests).toHaveLength(1);
});
