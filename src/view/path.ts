import type { Store } from "../index.ts";
import { Fragment, sql } from "./sql.ts";

/** SQL: a row with `session_id` and `seq` is of a session. A fork shares the first messages of others. */
export function isOfSession(store: Store, session: string): Fragment {
  return anyOf(session, pastOf(store, session), ({ holder, seqFirst, seqLast }) => {
    return sql`session_id = ${holder} AND seq BETWEEN ${seqFirst} AND ${seqLast}`;
  });
}

/** SQL: a row `table`, which is at the log position `position`, is of a session. */
export function isOfForest(store: Store, session: string, table: "u" | "c", position: "id" | "log_position"): Fragment {
  const column = new Fragment(`${table}.session_id`);
  const at = new Fragment(`${table}.${position}`);
  return anyOf(
    session,
    pastOf(store, session),
    ({ holder, logPosition }) => {
      return sql`${column} = ${holder} AND ${at} <= ${logPosition}`;
    },
    column,
  );
}

interface SharedPiece {
  holder: string;
  seqFirst: number;
  seqLast: number;
  logPosition: number;
}

function pastOf(store: Store, session: string): SharedPiece[] {
  const rows = store.query(sql`
    SELECT holder_id AS holder, seq_first AS seqFirst, seq_last AS seqLast, log_position AS logPosition
    FROM shared_pasts WHERE session_id = ${session} ORDER BY seq_first`);
  return rows as unknown as SharedPiece[];
}

function anyOf(
  session: string,
  past: readonly SharedPiece[],
  written: (piece: SharedPiece) => string,
  column = new Fragment("session_id"),
): Fragment {
  const conditions = [sql`${column} = ${session}`, ...past.map(written)];
  return new Fragment(past.length === 0 ? conditions[0]! : `(${conditions.join(" OR ")})`);
}
