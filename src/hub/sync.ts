import type { StoreError } from "../core/errors.ts";
import { allHubNotes, isForgottenCopy, type NameOnHub, type OnDamaged, unlessDamagedIn } from "../store/index.ts";
import { bring, bringHead, bringUp } from "./bring.ts";
import { isOfAll, type Link } from "./link.ts";
import { type Follows, followsOf, noteSynced } from "./remote.ts";
import { goneBack, HEAD_DIGEST, lengthsThere, SESSION_COLUMNS, type SessionRow } from "./rows.ts";

export interface SyncProgress {
  /** How many of the sessions with something new are done. */
  doneCount: number;
  sessionCount: number;
  /** Messages that came so far. */
  messageCount: number;
}

export interface SyncReport {
  /** Sessions of which anything came. */
  sessionCount: number;
  messageCount: number;
  /** Copies that were deleted, because their sessions were forgotten. */
  forgotten: string[];
  /** Sessions that could not be brought, and copies that could not be deleted, and why. The next sync tries them again. */
  refused: { sessionId: string; reason: string }[];
}

/** Rows are asked for again that were pushed in this time before the last sync, because a transaction shows when it ends. */
const OVERLAP = "10 minutes";

/** So many rows are read at once, with the items of their sessions. */
const PAGE = 100;

/**
 * SQL: the sessions of followed projects after a number that were pushed since the mark, or are to be tried again. Those of which the
 * store has a copy with all of it are left out.
 */
const FOLLOWED = (schema: string): string => `FROM ${schema}.sessions s
  LEFT JOIN unnest($9::bigint[], $10::bigint[], $11::text[]) AS had(no, had_length, had_head) ON no = session_no
  WHERE (pushed_at >= coalesce($1::timestamptz - $8::interval, '-infinity') OR session_no = ANY ($6)) AND session_no > $7
    AND (no IS NULL OR had_length < length OR had_head IS DISTINCT FROM ${HEAD_DIGEST})
    AND length > 0 AND holder <> $2 AND ($3::bigint IS NOT NULL AND last_at_ms >= $3
      OR EXISTS (SELECT FROM unnest($4::text[], $5::bigint[]) AS f(name, since) WHERE f.name = s.project AND last_at_ms >= f.since))`;

/**
 * SQL: when the server was asked, by its clock. A replica may lag, so it is when the last transaction ended that it has. That is null
 * if it has got none since it started, and stays while nobody writes.
 */
const ASKED_AT = "CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() ELSE now() END";
/** SQL: true if a replica may lack what the store has. */
const MAY_LACK = `pg_is_in_recovery() AND coalesce(${ASKED_AT} < $1::timestamptz, true)`;

interface Copy extends NameOnHub {
  id: string;
  sessionNo: number;
  length: number;
  head: string | undefined;
}

/** @throws {StoreError} Those of the hub and of the store. Those of single sessions are in the report. */
export async function sync(link: Link, onProgress?: (progress: SyncProgress) => void): Promise<SyncReport> {
  const follows = followsOf(link.repositories);
  const report: SyncReport = { sessionCount: 0, messageCount: 0, forgotten: [], refused: [] };
  const refuse = (sessionId: string, { message: reason }: Error): void => {
    if (!report.refused.some((one) => one.sessionId === sessionId)) report.refused.push({ sessionId, reason });
  };
  const copies = copiesOf(link, refuse);
  const { sessionCount, gone, anew, shorter, isBack, mark } = await news(link, follows, copies);
  for (const { sessionId, error } of shorter) refuse(sessionId, error);
  const retry = isBack ? [...follows.retry] : [];
  let doneCount = 0;
  const progressed = (): void => onProgress?.({ doneCount, sessionCount, messageCount: report.messageCount });
  let failure: unknown;
  try {
    // Nothing is asked for the rows if there are none, which is so most of the time.
    for await (const row of sessionCount === 0 ? [] : followed(link, follows, copies, anew, isBack)) {
      link.signal?.throwIfAborted();
      try {
        const brought = await followOne(link, row, isBack, (count) => {
          report.messageCount += count;
          progressed();
        });
        if (brought) report.sessionCount += 1;
      } catch (error) {
        if (link.signal?.aborted || isOfAll(error)) throw error;
        retry.push(row.sessionNo);
        refuse(row.name, error as Error);
      }
      doneCount = Math.min(doneCount + 1, sessionCount); // others push meanwhile
      progressed();
    }
  } catch (error) {
    if (link.signal?.aborted) throw error;
    failure = error; // what was forgotten goes all the same
  }
  if (gone.size > 0) {
    // Some are made anew by now.
    const left = copiesOf(link, refuse).filter(({ sessionNo }) => gone.has(sessionNo));
    const { dropped, refused } = link.store.copies.drop(left.map(({ id }) => id));
    report.forgotten = dropped;
    for (const { sessionId, error } of refused) refuse(sessionId, error);
  }
  link.store.eraseDue();
  if (failure !== undefined) throw failure;
  noteSynced(link.repositories, follows, { mark, retry: [...new Set(retry)], hub: link.hub });
  return report;
}

/** @param isBack  True if the hub has less of any session than it had. Then no copy is made again. @returns false if nothing was to do. */
async function followOne(
  link: Link,
  row: SessionRow,
  isBack: boolean,
  onMessages: (count: number) => void,
): Promise<boolean> {
  const id = link.idOf(row);
  if (id === undefined) {
    if (link.repositories.database.read(() => isForgottenCopy(link.repositories, row))) return false;
  } else if (!link.isCopy(id)) {
    const { sessionNo, length, isStale, forgotten = "asked" } = link.notes(id);
    if (row.sessionNo !== sessionNo) {
      const isAnew = sessionNo !== undefined && sessionNo < row.sessionNo && !isStale;
      if (isAnew) link.note(id, { forgotten }); // messages of it were forgotten elsewhere
      return false;
    }
    if (row.length === length) {
      await bringHead(link, id, row);
      return false;
    }
    let isNews = false;
    await bringUp(link, id, row, (count) => {
      isNews ||= count > 0;
      onMessages(count);
    });
    return isNews;
  } else {
    const { sessionNo, length = 0, head } = link.notes(id);
    if (isBack && sessionNo !== undefined && (sessionNo !== row.sessionNo || length > row.length)) return false;
    if (sessionNo === row.sessionNo && length >= row.length && head === row.head) return false;
  }
  return (await bring(link, row, onMessages)) !== undefined;
}

function copiesOf(link: Link, onDamaged: OnDamaged): Copy[] {
  return link.read(() => {
    const { storeId } = link;
    return [...allHubNotes(link.repositories, onDamaged)].flatMap(([id, notes]) => {
      const { isCopy, sessionNo, length = 0, head, origin = storeId, name = id } = notes;
      if (!isCopy || sessionNo === undefined) return [];
      const isThere = unlessDamagedIn(link.repositories, id, () => link.isCopy(id), onDamaged);
      return isThere ? { id, sessionNo, length, head, origin, name } : [];
    });
  });
}

/**
 * Asks how many followed sessions have something new, which copies' sessions are gone, and which of those were begun `anew`, followed or
 * not. `shorter`: copies of which the hub has less than it had. `isBack`: there are such, or it is a replica that may lack some; then
 * nothing counts as gone. `mark`: up to when the store has everything if it gets this.
 */
async function news(
  link: Link,
  follows: Follows,
  copies: readonly Copy[],
): Promise<{
  sessionCount: number;
  gone: ReadonlySet<number>;
  anew: SessionRow[];
  shorter: { sessionId: string; error: StoreError }[];
  isBack: boolean;
  mark: string | null;
}> {
  return link.transaction(async (client) => {
    const { schema } = link;
    const sql = `SELECT count(*) AS "sessionCount", (${ASKED_AT})::text AS now, ${MAY_LACK} AS "mayLack" ${FOLLOWED(schema)}`;
    type News = { sessionCount: number; now: string | null; mayLack: boolean };
    const { rows } = await client.query<News>(sql, termsOf(link, follows, copies, 0));
    const { sessionCount, now, mayLack } = rows[0]!;
    const there = await lengthsThere(
      client,
      schema,
      copies.map(({ sessionNo }) => sessionNo),
    );
    const shorter = (mayLack ? [] : copies).flatMap(({ id, sessionNo, length }) => {
      const error = goneBack(link.hub, id, there.get(sessionNo), length);
      return error === undefined ? [] : { sessionId: id, error };
    });
    const isBack = mayLack || shorter.length > 0;
    const gone = isBack ? [] : copies.filter(({ sessionNo }) => !there.has(sessionNo));
    const named = `SELECT ${SESSION_COLUMNS} FROM ${schema}.sessions
      WHERE length > 0 AND (origin, session_id) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))`;
    const names = [gone.map(({ origin }) => origin), gone.map(({ name }) => name)];
    const anew = gone.length === 0 ? [] : (await client.query<SessionRow>(named, names)).rows;
    const numbers = new Set(gone.map(({ sessionNo }) => sessionNo));
    // What was left out is asked for when the hub is whole again.
    const mark = isBack ? (follows.mark ?? (mayLack ? now : null)) : now;
    return { sessionCount: sessionCount + anew.length, gone: numbers, anew, shorter, isBack, mark };
  });
}

/** Yields the sessions that were begun anew, and the followed ones with something new. */
async function* followed(
  link: Link,
  follows: Follows,
  copies: readonly Copy[],
  anew: readonly SessionRow[],
  isBack: boolean,
): AsyncGenerator<SessionRow> {
  yield* anew;
  for (let last = 0; ; ) {
    const rows = await link.transaction(async (client) => {
      const sql = `SELECT ${SESSION_COLUMNS} ${FOLLOWED(link.schema)} ORDER BY session_no LIMIT ${PAGE}`;
      return (await client.query<SessionRow>(sql, termsOf(link, follows, copies, last, isBack))).rows;
    });
    yield* rows;
    if (rows.length < PAGE) return;
    last = rows.at(-1)!.sessionNo;
  }
}

/** @param isBack  True to leave out what was pushed before the last sync: a hub that has gone back may have what was forgotten since. */
function termsOf(
  link: Link,
  { mark, retry, projects, all }: Follows,
  copies: readonly Copy[],
  last: number,
  isBack = false,
): unknown[] {
  const followed = [all, projects.map(({ name }) => name), projects.map(({ sinceMs }) => sinceMs)];
  const had = (["sessionNo", "length", "head"] as const).map((name) => copies.map((copy) => copy[name]));
  return [mark, link.storeId, ...followed, isBack ? [] : retry, last, isBack ? "0" : OVERLAP, ...had];
}
