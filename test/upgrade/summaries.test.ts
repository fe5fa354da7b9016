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

test("forgetting a message of a theme that was summarized whole has its other messages read again", async () => {
  const { path } = olderStore();
  const summarizer = scriptedSummarizer("good");
  const store = openedStore(path, { summarizer });
  const session = store.resume("harbor-pilot");
  session.append(session.messages({ seqFrom: 2, seqTo: 28 }).map(({ role, parts }) => ({ role, parts })));
  session.compact();
  await session.resolveDirty();
  const [theme] =
    store.query(`SELECT t.root_id || '@' || t.log_position AS handle FROM summaries t WHERE t.level = 'theme'
    AND EXISTS (SELECT 1 FROM summaries c JOIN theme_members m ON m.message_id = c.root_id
      WHERE c.level = 'cluster' AND c.status = 'done' AND m.theme_id = t.root_id) ORDER BY t.id DESC`);
  const { members } = store.expand(`theme:${theme!.handle}`);
  const clusters = `SELECT DISTINCT cluster_id FROM cluster_members WHERE message_id IN (${members.map(({ id }) => id)})`;
  const later = `SELECT count(*) AS n FROM summaries WHERE level = 'cluster' AND status = 'done' AND root_id IN (${clusters})`;
  expect(Number(store.query(later)[0]!.n)).toBeGreaterThan(0);
  store.forget("harbor-pilot", { messageIds: [members.at(-1)!.id] });
  expect(store.query(later)).toEqual([{ n: 0 }]);
  expect(store.verify()).toMatchObject({ ok: true });
});
