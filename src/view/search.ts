import type { RecallOptions, Store } from "../index.ts";
import { sessionNames } from "../session/aids/session-name.ts";
import type { SearchAnswer, SearchRequest } from "./api.ts";
import { Fragment, sql } from "./sql.ts";

/** Searches while a person types. A remote embedder is not asked, because each key would wait for it and cost money. */
export async function searchAnswer(store: Store, request: SearchRequest): Promise<SearchAnswer> {
  const { q, session, project, source, role, sinceMs, untilMs, limit = 20, explain = 0 } = request;
  const fromMs = performance.now();
  const ofSource = source === undefined ? undefined : idsOfSource(store, source);
  const sessionIds = session === undefined ? ofSource : [session];
  const options: RecallOptions = {
    limit: limit + 1, // one more tells whether there are more
    vectorMsMax: 0,
    explain: explain === 1,
    ...(sessionIds !== undefined && { sessionIds }),
    ...(project !== undefined && { project }),
    ...(role !== undefined && { roles: [role] }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
  const found = q.trim() === "" ? [] : await store.recall(q, options);
  const hits = found.slice(0, limit);
  const names = namesOf(store, [...new Set(hits.map(({ sessionId }) => sessionId))]);
  return {
    hits: hits.map(({ text: _text, corrections: _corrections, phrasesMissing: _missing, ...hit }) => ({
      ...hit,
      ...(names.get(hit.sessionId) ?? { sessionTitle: null, project: null, source: null }),
    })),
    more: found.length > limit,
    corrections: hits[0]?.corrections ?? [],
    phrasesMissing: hits[0]?.phrasesMissing ?? false,
    tookMs: Math.round(10 * (performance.now() - fromMs)) / 10,
    sql: searchSql(request),
  };
}

function idsOfSource(store: Store, source: string): string[] {
  return store.query(sql`SELECT id FROM sessions WHERE source = ${source}`).map(({ id }) => String(id));
}

type Names = Pick<SearchAnswer["hits"][number], "sessionTitle" | "project" | "source">;

function namesOf(store: Store, ids: readonly string[]): Map<string, Names> {
  if (ids.length === 0) return new Map();
  const rows = store.query(sql`
    SELECT id, project, source FROM sessions WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
  const names = sessionNames(store, ids);
  return new Map(
    (rows as Record<string, string | null>[]).map(({ id, project, source }) => {
      return [id!, { sessionTitle: names.get(id!) ?? null, project: project ?? null, source: source ?? null }];
    }),
  );
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
