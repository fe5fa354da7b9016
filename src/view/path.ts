import type { Store } from "../index.ts";
import { internalsOf } from "../session/opened-store.ts";
import { Fragment, sql } from "./sql.ts";

/** SQL: a row with `session_id` and `seq` is of a session. A fork shares the first messages of others. */
export function isOfSession(store: Store, session: string): Fragment {
  return anyOf(session, sharedBy(store, session), ({ sessionId, seqFirst, seqLast }) => {
    return sql`session_id = ${sessionId} AND seq BETWEEN ${seqFirst} AND ${seqLast}`;
  });
}

/** SQL: a row `table`, which is at the log position `position`, is of a session. */
export function isOfForest(store: Store, session: string, table: "u" | "c", position: "id" | "log_position"): Fragment {
  const column = new Fragment(`${table}.session_id`);
  const at = new Fragment(`${table}.${position}`);
  return anyOf(
    session,
    sharedBy(store, session),
    ({ sessionId, logPosition }) => {
      return sql`${column} = ${sessionId} AND ${at} <= ${logPosition}`;
    },
    column,
  );
}

type Past = ReturnType<typeof sharedBy>;

/** What a session shares as a fork, oldest first. */
export function sharedBy(store: Store, session: string) {
  const { database, paths } = internalsOf(store).repositories;
  return database.read(() => paths.past(session));
}

function anyOf(
  session: string,
  past: Past,
  written: (piece: Past[number]) => string,
  column = new Fragment("session_id"),
): Fragment {
  const conditions = [sql`${column} = ${session}`, ...past.map(written)];
  return new Fragment(past.length === 0 ? conditions[0]! : `(${conditions.join(" OR ")})`);
}
