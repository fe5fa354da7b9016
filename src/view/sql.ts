import { StoreError } from "../core/errors.ts";
import type { Store } from "../index.ts";
import { internalsOf } from "../session/opened-store.ts";

export type Row = ReturnType<Store["query"]>[number];

/** Returns the text of a statement. Values become literals, so that a person can run the same statement. */
export function sql(text: TemplateStringsArray, ...values: (string | number | null | Fragment)[]): string {
  const written = String.raw({ raw: text }, ...values.map(literal));
  return written.replace(/\s*\n\s*/g, "\n").trim();
}

/** SQL that becomes part of a statement as it is. */
export class Fragment {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function literal(value: string | number | null | Fragment): string {
  if (value instanceof Fragment) return value.text;
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (value.includes("\0")) throw new StoreError("QUERY_REFUSED", { reason: "a text has a NUL character" });
  return `'${value.replaceAll("'", "''")}'`;
}

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
