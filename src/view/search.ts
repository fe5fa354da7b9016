import type { RecallOptions, Store } from "../index.ts";
import type { SearchAnswer, SearchRequest } from "./api.ts";
import type { SessionList } from "./sessions.ts";
import { Fragment, sql } from "./sql.ts";

/** Searches while a person types. A remote embedder is not asked, because each key would wait for it and cost money. */
export async function searchAnswer(store: Store, list: SessionList, request: SearchRequest): Promise<SearchAnswer> {
  const { q, session, project, source, role, sinceMs, untilMs, limit = 20, explain = 0 } = request;
  const fromMs = performance.now();
  const sessions = await list.all();
  const bySource = source === undefined ? undefined : sessions.filter((item) => item.source === source);
  const sessionIds = session !== undefined ? [session] : bySource?.map(({ id }) => id);
  const options: RecallOptions = {
    limit,
    vectorMsMax: 0,
    explain: explain === 1,
    ...(sessionIds !== undefined && { sessionIds }),
    ...(project !== undefined && { project }),
    ...(role !== undefined && { roles: [role] }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
  const hits = q.trim() === "" ? [] : await store.recall(q, options);
  const byId = new Map(sessions.map((item) => [item.id, item]));
  return {
    hits: hits.map(({ text: _text, corrections: _corrections, phrasesMissing: _missing, ...hit }) => {
      const { title = null, project: ofProject = null, source: ofSource = null } = byId.get(hit.sessionId) ?? {};
      return { ...hit, sessionTitle: title, project: ofProject, source: ofSource };
    }),
    corrections: hits[0]?.corrections ?? [],
    phrasesMissing: hits[0]?.phrasesMissing ?? false,
    tookMs: Math.round(10 * (performance.now() - fromMs)) / 10,
    sql: searchSql(request),
  };
}

/** The words alone. Vectors, neighbors and corrections are not in SQL. */
function searchSql({ q, session, project, source, role, sinceMs, untilMs, limit = 20 }: SearchRequest): string {
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
