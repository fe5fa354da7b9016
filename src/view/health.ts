import type { Store } from "../index.ts";
import type { Cost, HealthAnswer } from "./api.ts";
import { sql } from "./sql.ts";

const PAID = `count(*) AS summaryCount, coalesce(sum(input_tokens), 0) AS inputTokens,
  coalesce(sum(output_tokens), 0) AS outputTokens, sum(cost_usd) AS costUsd`;
const ROWS_MAX = 400;
const SESSIONS_MAX = 100;

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
