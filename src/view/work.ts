import type { Store } from "../index.ts";
import { workItems } from "../session/aids/work-items.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { WorkAnswer, WorkRequest } from "./api.ts";
import { Fragment, sql } from "./sql.ts";

const ITEMS_MAX = 50;

export function workAnswer(store: Store, { project, ...asked }: WorkRequest): WorkAnswer {
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

function workSql({ file, error, command }: Omit<WorkRequest, "project">, project: string | undefined): string {
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
