import { StoreError } from "../core/errors.ts";
import { beganHere, newIdHere, noteOnHub, takeForgottenCopy } from "../store/index.ts";
import { bring, bringUp } from "./bring.ts";
import { becomeOwn, type Link } from "./link.ts";
import { HEAD_DIGEST, SESSION_COLUMNS, type SessionRow } from "./rows.ts";
import { headIn, headNote } from "./unsent.ts";

export interface PullOptions {
  /** True to go on with the session in this store: only this store may push it from then on. False by default. */
  take?: boolean;
  /**
   * True to keep what is here as a session of its own, if both have gone on, and to bring the hub's as another one. False by default:
   * then it is refused.
   */
  fork?: boolean;
  /** The project of the session, if you may see several sessions with this id. */
  project?: string;
  /** The store in which it began, as in `hub.sessions()`. By default that of the session with this id in the store. */
  origin?: string;
  signal?: AbortSignal;
}

export interface PulledSession {
  /** Its id in this store. It has an end of its own if another session here has the id. */
  sessionId: string;
  /** `known`: the store had all of it already. */
  outcome: "new" | "continued" | "known";
  /** The messages that came. */
  messageCount: number;
  /** True if this store may push the session. */
  isHolder: boolean;
  /** The session with what only this store had, which is now one of its own; null unless there was a fork. */
  forkId: string | null;
}

/** @throws {StoreError} `SESSION_NOT_FOUND`, `SESSION_DIVERGED`, `SESSION_FORGOTTEN`, `OPTION_INVALID`, `ROWS_INVALID`. */
export async function pull(link: Link, sessionId: string, options: PullOptions): Promise<PulledSession> {
  const { take = false, fork = false, project, origin } = options;
  const row = await findOnHub(link, sessionId, { project, origin });
  let id = link.idOf(row);
  let forkId: string | null = null;
  let messageCount = 0;
  const onMessages = (count: number): void => {
    messageCount += count;
  };
  let isHolder = false;
  if (id !== undefined && !link.isCopy(id)) {
    isHolder = row.holder === link.storeId;
    const isBehind = !isHolder && !take; // it must not have more than the hub
    const found = await bringUp(link, id, row, onMessages, isBehind);
    if (found === "diverged" || (found === "ahead" && isBehind)) {
      if (!fork) throw new StoreError("SESSION_DIVERGED", { sessionId: id, what: "messages that the hub lacks" });
      forkId = id;
      becomeOwn(link.repositories, id);
      id = undefined;
    }
  }
  const isNew = id === undefined;
  if (isNew) {
    link.repositories.database.write("pull", () =>
      takeForgottenCopy(link.repositories, row, newIdHere(link.repositories, row)),
    );
  }
  if (id === undefined || link.isCopy(id)) id = await bring(link, row, onMessages);
  const outcome = isNew ? "new" : messageCount > 0 ? "continued" : "known";
  if (id === undefined || (take && !isHolder && !(await takeOver(link, id, row)))) {
    // Another process has taken it, or the hub has more of it by now.
    const again = await pull(link, sessionId, { ...options, origin: row.origin });
    return { ...again, outcome, messageCount: messageCount + again.messageCount, forkId: forkId ?? again.forkId };
  }
  link.store.eraseDue();
  return { sessionId: id, outcome, messageCount, isHolder: isHolder || take, forkId };
}

/** Makes this store the holder of a session. What the hub has of it is noted. @returns false if the hub has more of it by now. */
async function takeOver(link: Link, id: string, row: SessionRow): Promise<boolean> {
  const { database, sessions, tombstones } = link.repositories;
  const isOwn = database.read(() => beganHere(link.repositories, id));
  const isMissing =
    link.notes(id).left !== undefined ||
    ((!isOwn || link.isCopy(id)) &&
      database.read(() => tombstones.forgottenBefore(id, Number.MAX_SAFE_INTEGER)) !== undefined);
  if (isMissing && !isOwn) throw new StoreError("SESSION_FORGOTTEN", { sessionId: id });
  const isTaken = await link.transaction(async (client) => {
    const sql = `UPDATE ${link.schema}.sessions SET holder = $2, pushed_at = clock_timestamp(), pushed_by = session_user
      WHERE session_no = $1 AND length = $3 AND holder IN ($4, $2) AND ${HEAD_DIGEST} = $5`;
    const known = [row.sessionNo, link.storeId, row.length, row.holder, row.head];
    return (await client.query(sql, known)).rowCount === 1;
  });
  if (!isTaken) return false;
  link.write("pull", () => {
    const { sessionNo, length, project } = row;
    // A copy has what the hub has, as far as it can have it here.
    const same = link.isCopy(id) && { head: headNote(headIn(link.repositories, id).digest, project) };
    sessions.setAuthor(id, null);
    const stale = isMissing && { isStale: true as const }; // what began here is pushed anew without it
    noteOnHub(link.repositories, id, { isCopy: undefined, sessionNo, length, ...same, ...stale });
  });
  return true;
}

/** @throws {StoreError} `SESSION_NOT_FOUND`, `OPTION_INVALID` if several sessions have the id and the store has none of them. */
async function findOnHub(
  link: Link,
  sessionId: string,
  wanted: { project: string | undefined; origin: string | undefined },
): Promise<SessionRow> {
  const { name = sessionId, origin: noted, sessionNo } = link.notes(sessionId);
  const rows = await link.transaction(async (client) => {
    const sql = `SELECT ${SESSION_COLUMNS} FROM ${link.schema}.sessions WHERE session_id = $1 AND length > 0
      AND ($2::text IS NULL OR project = $2) AND ($3::text IS NULL OR origin::text = $3)`;
    return (await client.query<SessionRow>(sql, [name, wanted.project ?? null, wanted.origin ?? null])).rows;
  });
  if (rows.length === 0) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  const own = rows.filter(({ origin }) => origin === (noted ?? link.storeId) && sessionNo !== undefined);
  const found = own.length > 0 ? own : rows;
  if (found.length === 1) return found[0]!;
  const isInProjects = new Set(found.map((row) => row.project)).size === found.length;
  const names = found.map((row) => (isInProjects ? row.project : row.origin)).map((one) => `"${one}"`);
  const [option, what] = isInProjects ? (["project", "projects"] as const) : (["origin", "stores"] as const);
  const expected = `one of the ${what} that have session "${sessionId}": ${names.join(", ")}`;
  throw new StoreError("OPTION_INVALID", { option, expected, actual: wanted[option] });
}
