import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { geminiSummarizer } from "../../../src/index.ts";
import { ANSWER_FAULTS, GENERATION_FAULTS, TEST_KEY, TEST_TIMEOUT_MS } from "../../support/gemini-faults.ts";
import { geminiServer } from "../../support/gemini-server.ts";
import { talk } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50, summaryTokensMax: 60 };

test.each(Object.entries({ ...GENERATION_FAULTS, ...ANSWER_FAULTS }))(
  "%s: a theme fails, the store is whole, and the next call heals it",
  async (_, { reply, details }) => {
    const server = await geminiServer(reply, "good");
    const summarizer = geminiSummarizer({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: TEST_TIMEOUT_MS });
    const store = temporaryStore({ summarizer });
    const session = store.session("s", SETTINGS);
    session.appendAll(talk(40));

    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 1, stale: 0, parked: 0 });
    expect(server.requests).toHaveLength(1);
    const [row] = store.query("SELECT status, error FROM summaries");
    expect(row).toMatchObject({ status: "failed" });
    expect(row!.error).toContain(details.reason);
    expect(row!.error).not.toContain(TEST_KEY);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
    expect(session.render({ tokensMax: 4_000 }).tokenCount).toBeLessThanOrEqual(4_000);

    await sleep(details.retryAfterMs ?? 0);
    expect(await session.resolveDirty()).toEqual({ resolved: 1, failed: 0, stale: 0, parked: 0 });
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  },
);

test("an abort while the server hangs rejects, writes nothing, and the next call heals", async () => {
  const server = await geminiServer("hang", "good");
  const summarizer = geminiSummarizer({ apiKey: TEST_KEY, baseUrl: server.url });
  const store = temporaryStore({ summarizer });
  const session = store.session("s", SETTINGS);
  session.appendAll(talk(40));
  const controller = new AbortController();
  const resolving = session.resolveDirty({ signal: controller.signal });
  await server.arrived(1);
  controller.abort(new Error("enough"));
  await expect(resolving).rejects.toThrow("enough");
  expect(store.query("SELECT count(*) AS n FROM summaries")).toEqual([{ n: 0 }]);
  expect(await session.resolveDirty()).toMatchObject({ resolved: 1, failed: 0 });
});
