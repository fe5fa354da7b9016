import type { Store } from "../index.ts";
import type { Cost, HealthAnswer, UsageAnswer, UsageRow } from "./api.ts";
import type { Query } from "./requests.ts";
import { sql } from "./sql.ts";

const PAID = `count(*) AS summaryCount, coalesce(sum(input_tokens), 0) AS inputTokens,
  coalesce(sum(output_tokens), 0) AS outputTokens, sum(cost_usd) AS costUsd`;
const ROWS_MAX = 400;
const SESSIONS_MAX = 100;
const USAGE_ROWS_MAX = 20_000;

/** Reads every message of a model. The view `usage` has days in UTC, so its text is run with those of the reader. */
export function usageAnswer(store: Store, { offsetMinutes = 0 }: Query<"/api/usage">): UsageAnswer {
  const [view] = store.query("SELECT substr(sql, instr(sql, 'WITH ')) AS text FROM sqlite_schema WHERE name = 'usage'");
  const seconds = "created_at_ms / 1000";
  const usage = String(view?.text).replaceAll(seconds, `${seconds} + ${60 * offsetMinutes}`);
  const statement = `SELECT u.day, u.project, u.model, s.source AS agent, sum(reply_count) AS replyCount,
  sum(input_tokens + cache_write_tokens) AS inputTokens, sum(cache_read_tokens) AS cachedTokens,
  sum(output_tokens) AS outputTokens, sum(cost_usd) AS costUsd
FROM ${offsetMinutes === 0 ? "usage" : `(${usage})`} u JOIN sessions s ON s.id = u.session_id WHERE u.day IS NOT NULL
GROUP BY 1, 2, 3, 4 ORDER BY u.day DESC LIMIT ${USAGE_ROWS_MAX}`;
  return { rows: store.query(statement) as unknown as UsageRow[], sql: statement };
}

export function healthAnswer(store: Store): HealthAnswer {
  const byDay = `SELECT date(created_at_ms / 1000, 'unixepoch') AS key, summarizer_id AS summarizerId, ${PAID}
FROM summaries WHERE status <> 'due'
GROUP BY key, summarizer_id ORDER BY key DESC LIMIT ${ROWS_MAX}`;
  const bySession = `SELECT session_id AS key, summarizer_id AS summarizerId, summary_count AS summaryCount,
  input_tokens AS inputTokens, output_tokens AS outputTokens, cost_usd AS costUsd,
  (SELECT title FROM sessions WHERE id = session_id) AS title
FROM summary_costs ORDER BY cost_usd DESC, input_tokens DESC LIMIT ${SESSIONS_MAX}`;
  const queues = sql`
    SELECT 'summaries' AS queue, status, count(*) AS count, min(created_at_ms) AS oldestAtMs FROM summaries
    WHERE status <> 'done' GROUP BY status
    UNION ALL
    SELECT 'vectors', status, count(*), min(due_since_ms) FROM pending_vectors GROUP BY status`;
  return {
    stats: store.stats(),
    queues: store.query(queues) as unknown as HealthAnswer["queues"],
    costsByDay: store.query(byDay) as unknown as Cost[],
    costsBySession: store.query(bySession) as unknown as HealthAnswer["costsBySession"],
    sql: byDay,
  };
}
