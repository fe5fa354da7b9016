import { spansOf } from "../core/inline-markdown.ts";
import { verdictText } from "../core/verdicts.ts";
import type { RecallOptions, Store } from "../index.ts";
import { type AnswerHit, answerOf } from "../session/aids/answer.ts";
import { themesAbout, themesNear } from "../session/aids/near-themes.ts";
import { noteOnHits, worthShowing } from "../session/aids/recall-notes.ts";
import type { SearchAnswer, SearchHit, ThemesAnswer } from "./api.ts";
import type { Query } from "./requests.ts";
import { Fragment, sql } from "./sql.ts";

/** Searches while a person types. A remote embedder is not asked, because each key would wait for it and cost money. */
export async function searchAnswer(store: Store, request: Query<"/api/search">): Promise<SearchAnswer> {
  const { q = "", session, project, source, role, sinceMs, untilMs, limit = 20, explain = 0 } = request;
  const fromMs = performance.now();
  const ofSource = source === undefined ? undefined : idsOfSource(store, source);
  const sessionIds = session === undefined ? ofSource : [session];
  const options: RecallOptions = {
    limit: limit + 1, // one more tells whether there are more
    neighbors: 0,
    vectorMsMax: 0,
    explain: explain === 1,
    ...(sessionIds !== undefined && { sessionIds }),
    ...(project !== undefined && { project }),
    ...(role !== undefined && { roles: [role] }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
  const found = q.trim() === "" ? [] : await store.recall(q, options);
  // In one session, a person looks for words.
  const hits = (session === undefined ? worthShowing(found) : found).slice(0, limit);
  return {
    sessions: answerOf(hits, store).map((one) => ({ ...one, hits: one.hits.map(shownHit) })),
    more: hits.length === limit && found.length > limit,
    note: noteOnHits(hits) ?? null,
    tookMs: Math.round(10 * (performance.now() - fromMs)) / 10,
    sql: searchSql(request),
  };
}

/** Finds themes. As a person types, a remote embedder is not asked. */
export async function themesAnswer(
  store: Store,
  { q = "", root, ...scope }: Query<"/api/themes">,
): Promise<ThemesAnswer> {
  const fromMs = performance.now();
  const themes =
    root !== undefined
      ? themesNear(store, root, scope)
      : q.trim() === ""
        ? []
        : await themesAbout(store, q, { ...scope, vectorMsMax: 0 });
  return { themes, tookMs: Math.round(10 * (performance.now() - fromMs)) / 10 };
}

function shownHit({ hit, asked, question }: AnswerHit): SearchHit {
  const { messageId, seq, role, name, createdAtMs, supersededBy, score, parts, snippet, marks, copies, verdict } = hit;
  return {
    messageId,
    seq,
    role,
    ...(name !== undefined && { name }),
    createdAtMs,
    ...(supersededBy !== undefined && { supersededBy }),
    score,
    ...(parts !== undefined && { parts }),
    asked,
    ...(question !== null && { questionSeq: question.seq }),
    spans: spansOf(snippet, marks),
    copyCount: copies.length,
    verdict: verdict === undefined ? null : verdictText(verdict),
  };
}

function idsOfSource(store: Store, source: string): string[] {
  return store.query(sql`SELECT id FROM sessions WHERE source = ${source}`).map(({ id }) => String(id));
}

/** The words alone. Vectors, neighbors and corrections are not in SQL. */
function searchSql(request: Query<"/api/search">): string {
  const { q = "", session, project, source, role, sinceMs, untilMs, limit = 20 } = request;
  const words = q.match(/[\p{L}\p{N}]+/gu) ?? [];
  const match = words.map((word) => `"${word}"`).join(" OR ");
  const conditions = [
    ...(session === undefined ? [] : [sql`m.session_id = ${session}`]),
    ...(project === undefined ? [] : [sql`s.project = ${project}`]),
    ...(source === undefined ? [] : [sql`s.source = ${source}`]),
    ...(role === undefined ? [] : [sql`m.role = ${role}`]),
    ...(sinceMs === undefined ? [] : [sql`m.created_at_ms >= ${sinceMs}`]),
    ...(untilMs === undefined ? [] : [sql`m.created_at_ms <= ${untilMs}`]),
  ].map((condition) => ` AND ${condition}`);
  return sql`
    SELECT m.session_id, m.seq, m.role, substr(m.text, 1, 200) AS opening
    FROM messages_fts f JOIN messages m ON m.id = f.rowid JOIN sessions s ON s.id = m.session_id
    WHERE messages_fts MATCH ${match}${new Fragment(conditions.join(""))} ORDER BY f.rank LIMIT ${limit}`;
}
