import type { Store } from "../index.ts";
import { workItems } from "../session/aids/work-items.ts";
import { type WorkOverview, workOverview } from "../session/aids/work-overview.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { WorkAnswer } from "./api.ts";
import type { Query } from "./requests.ts";
import { Fragment, sql } from "./sql.ts";

const ITEMS_MAX = 50;
const COUNTS_MAX = 10;

export function workAnswer(store: Store, { project, ...asked }: Query<"/api/work">): WorkAnswer {
  const items = workItems(store, asked, { limit: ITEMS_MAX, ...(project !== undefined && { project }) });
  const withSeq = <L extends { messageId: number }>(line: L) => ({
    ...line,
    seq: internalsOf(store).message(line.messageId).seq,
  });
  return {
    items: items.map((item) => ({ ...item, lines: item.lines.map(withSeq) })),
    sql: workSql(asked, project),
  };
}

export function workOverviewAnswer(
  store: Store,
  { project, sinceMs }: Query<"/api/work-overview">,
): WorkOverview & { sql: string } {
  const ofProject = project === undefined ? "" : sql`project = ${project} AND`;
  const statement = sql`
    SELECT kind, project, target, outcome, error, count(DISTINCT created_at_ms) AS count, count(DISTINCT session_id) AS sessions
    FROM work WHERE ${new Fragment(ofProject)} created_at_ms >= ${sinceMs ?? 0}
    GROUP BY kind, project, target, outcome, error ORDER BY count DESC LIMIT ${ITEMS_MAX}`;
  return { ...workOverview(store, { project, sinceMs, limit: COUNTS_MAX }), sql: statement };
}

function workSql({ file, error, command }: Omit<Query<"/api/work">, "project">, project: string | undefined): string {
  const asked =
    file !== undefined
      ? sql`kind IN ('read', 'edit', 'write') AND target LIKE ${`%${file}`}`
      : command !== undefined
        ? sql`kind = 'run' AND target LIKE ${`${command}%`}`
        : error !== undefined
          ? sql`error LIKE ${`%${error}%`}`
          : "error IS NOT NULL";
  const ofProject = project === undefined ? "" : sql` AND project = ${project}`;
  return sql`
    SELECT session_id, seq, kind, target, outcome, error FROM work
    WHERE ${new Fragment(`${asked} ${ofProject}`.trim())} ORDER BY message_id DESC LIMIT ${ITEMS_MAX}`;
}
