import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { claimFaults } from "../support/claims.ts";
import { inDatabase } from "../support/rows.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const FIXTURE = fileURLToPath(new URL("../fixtures/stores/format-8.db.gz", import.meta.url));

/** A store in which a model has written the summaries of themes in one session, and which is of the format before one table. */
function olderStore(): { path: string; themes: number; spans: unknown[]; texts: unknown[] } {
  const path = temporaryPath();
  writeFileSync(path, gunzipSync(readFileSync(FIXTURE)));
  return inDatabase(path, (database) => {
    database.exec(`UPDATE summaries SET summarizer_id = 'model', input_tokens = 7 WHERE status = 'done'
      AND session_id = 'harbor-pilot'`);
    const spans =
      "SELECT session_id, strategy, first_id, last_id, status, text, cost_usd FROM span_summaries ORDER BY id";
    return {
      path,
      themes: database.prepare("SELECT count(*) FROM summaries").pluck().get() as number,
      spans: database.prepare(spans).raw().all(),
      texts: database.prepare("SELECT text FROM summaries ORDER BY id").pluck().all(),
    };
  });
}

test("all summaries are in one table, and none is lost", () => {
  const { path, themes, spans, texts } = olderStore();
  const store = openedStore(path);
  expect(spans.length).toBeGreaterThan(0);
  const moved = store.query(
    "SELECT session_id, level, root_id, log_position, status, text, cost_usd FROM summaries WHERE level <> 'theme' ORDER BY id",
  );
  expect(moved.map((row) => Object.values(row))).toEqual(spans);
  const kept = store.query("SELECT text FROM summaries WHERE level = 'theme' ORDER BY id");
  expect(kept.map(({ text }) => text)).toEqual(texts);
  expect(kept).toHaveLength(themes);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("what a model wrote of themes stays in contexts and is not read again; quotes leave them", async () => {
  const { path } = olderStore();
  const summarizer = scriptedSummarizer("good");
  const store = openedStore(path, { summarizer });
  const session = store.resume("harbor-pilot");
  const before = session.roots().flatMap(({ summaries }) => summaries!);
  expect(before.length).toBeGreaterThan(0);
  for (const { root, summarizerId, messageCount } of before) {
    expect([root.split(":")[0], summarizerId]).toEqual(["theme", "model"]);
    expect(store.expand(root).memberCount).toBe(messageCount);
  }
  const shown = session.render({ tokensMax: 4_000 });
  expect(shown.sources.some(({ how }) => how === "summary")).toBe(true);
  expect(claimFaults(store, session, shown)).toEqual([]);
  const covered = new Set(before.flatMap(({ root }) => store.expand(root).members.map(({ seq }) => seq)));
  await session.resolveDirty();
  session.compact();
  await session.resolveDirty();
  const read = summarizer.requests.flatMap(({ sources }) => sources.map(({ seq }) => seq));
  expect(read.filter((seq) => covered.has(seq))).toEqual([]);
  const quoted =
    "SELECT count(*) AS n FROM summaries WHERE summarizer_id = 'extractive' AND level = 'theme' AND shown_until IS NULL";
  expect(store.query(quoted)).toEqual([{ n: 0 }]);
});
