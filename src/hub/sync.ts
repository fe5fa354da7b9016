import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { baseNameOf, isPath } from "../core/project.ts";
import type { SessionHead } from "../session/moving/copies.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import {
  allHubNotes,
  assertHub,
  beganHere,
  endOf,
  type HubNoteChanges,
  type HubNotes,
  hubNotesOf,
  idHere,
  isForgottenCopy,
  type NameOnHub,
  newIdHere,
  noteOnHub,
  projectOnHub,
  type Repositories,
  takeForgottenCopy,
} from "../store/index.ts";
import type { HubConnection } from "./connection.ts";
import { headOf, readable } from "./log.ts";
import {
  commonPlace,
  goneBack,
  HEAD_DIGEST,
  lengthsThere,
  logFrom,
  Pusher,
  SESSION_COLUMNS,
  type SessionRow,
} from "./push.ts";
import { type Follows, followsOf, noteSynced } from "./remote.ts";

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

/** SQL: the sessions of followed projects after a number that were pushed since the mark, or are to be tried again. */
const FOLLOWED = (schema: string): string => `FROM ${schema}.sessions s
  WHERE (pushed_at >= coalesce($1::timestamptz - $8::interval, '-infinity') OR session_no = ANY ($6)) AND session_no > $7
    AND length > 0 AND holder <> $2 AND ($3::bigint IS NOT NULL AND last_at_ms >= $3
      OR EXISTS (SELECT FROM unnest($4::text[], $5::bigint[]) AS f(name, since) WHERE f.name = s.project AND last_at_ms >= f.since))`;

/** Brings sessions of a hub into a store. */
export class Puller {
  readonly #hub: HubConnection;
  readonly #store: OpenedStore;
  readonly #repositories: Repositories;
  readonly #storeId: string;
  readonly #signal: AbortSignal | undefined;

  constructor(hub: HubConnection, store: OpenedStore, storeId: string, signal: AbortSignal | undefined) {
    this.#hub = hub;
    this.#store = store;
    this.#repositories = store.repositories;
    this.#storeId = storeId;
    this.#signal = signal;
  }

  /**
   * Brings what is new of the sessions that the store follows, and deletes copies that were forgotten.
   *
   * @throws {StoreError} Those of the hub and of the store. Those of single sessions are in the report.
   */
  async sync(onProgress?: (progress: SyncProgress) => void): Promise<SyncReport> {
    const follows = followsOf(this.#repositories);
    const { sessionCount, gone, anew, shorter, now } = await this.#news(follows);
    const report: SyncReport = { sessionCount: 0, messageCount: 0, forgotten: [], refused: [] };
    for (const { sessionId, error } of shorter) report.refused.push({ sessionId, reason: error.message });
    const isBack = shorter.length > 0;
    const retry = isBack ? [...follows.retry] : [];
    let doneCount = 0;
    const progressed = (): void => onProgress?.({ doneCount, sessionCount, messageCount: report.messageCount });
    let failure: unknown;
    try {
      // Nothing is asked for the rows if there are none, which is so most of the time.
      for await (const row of sessionCount === 0 ? [] : this.#followed(follows, anew, isBack)) {
        this.#signal?.throwIfAborted();
        try {
          const brought = await this.#follow(row, isBack, (count) => {
            report.messageCount += count;
            progressed();
          });
          if (brought) report.sessionCount += 1;
        } catch (error) {
          if (this.#signal?.aborted || isOfAll(error)) throw error;
          retry.push(row.sessionNo);
          report.refused.push({ sessionId: row.name, reason: (error as Error).message });
        }
        doneCount = Math.min(doneCount + 1, sessionCount); // others push meanwhile
        progressed();
      }
    } catch (error) {
      if (this.#signal?.aborted) throw error;
      failure = error; // what was forgotten goes all the same
    }
    if (gone.size > 0) {
      const { dropped, refused } = this.#store.copies.drop(this.#copies(gone).map(({ id }) => id));
      report.forgotten = dropped;
      for (const { sessionId, error } of refused) report.refused.push({ sessionId, reason: error.message });
    }
    this.#store.eraseDue();
    if (failure !== undefined) throw failure;
    const mark = isBack ? follows.mark : now; // what was left out is asked for when it is whole again
    noteSynced(this.#repositories, follows, { mark, retry: [...new Set(retry)], hub: this.#hub });
    return report;
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND`, `SESSION_DIVERGED`, `SESSION_FORGOTTEN`, `OPTION_INVALID`, `ROWS_INVALID`. */
  async pull(sessionId: string, options: PullOptions): Promise<PulledSession> {
    const { take = false, fork = false, project, origin } = options;
    const row = await this.#find(sessionId, { project, origin });
    let id = this.#idOf(row);
    let forkId: string | null = null;
    let messageCount = 0;
    const onMessages = (count: number): void => {
      messageCount += count;
    };
    let isHolder = false;
    if (id !== undefined && !this.#isCopy(id)) {
      isHolder = row.holder === this.#storeId;
      const found = await this.#bringUp(id, row, onMessages);
      if (found === "diverged" || (found === "ahead" && !isHolder && !take)) {
        if (!fork) throw new StoreError("SESSION_DIVERGED", { sessionId: id, what: "messages that the hub lacks" });
        forkId = id;
        becomeOwn(this.#repositories, id);
        id = undefined;
      }
    }
    const isNew = id === undefined;
    if (isNew) {
      this.#repositories.database.write("pull", () =>
        takeForgottenCopy(this.#repositories, row, newIdHere(this.#repositories, row)),
      );
    }
    if (id === undefined || this.#isCopy(id)) id = await this.#bring(row, onMessages);
    const outcome = isNew ? "new" : messageCount > 0 ? "continued" : "known";
    if (id === undefined || (take && !isHolder && !(await this.#take(id, row)))) {
      // Another process has taken it, or the hub has more of it by now.
      const again = await this.pull(sessionId, { ...options, origin: row.origin });
      return { ...again, outcome, messageCount: messageCount + again.messageCount, forkId: forkId ?? again.forkId };
    }
    this.#store.eraseDue();
    return { sessionId: id, outcome, messageCount, isHolder: isHolder || take, forkId };
  }

  /**
   * Brings a followed session.
   *
   * @param isBack  True if the hub has less of any session than it had. Then no copy is made again.
   * @returns false if there was nothing to do.
   */
  async #follow(row: SessionRow, isBack: boolean, onMessages: (count: number) => void): Promise<boolean> {
    const id = this.#idOf(row);
    if (id === undefined) {
      if (this.#repositories.database.read(() => isForgottenCopy(this.#repositories, row))) return false;
    } else if (!this.#isCopy(id)) {
      const { sessionNo, length, isStale, forgotten = "asked" } = this.#notes(id);
      if (row.sessionNo !== sessionNo) {
        const isAnew = sessionNo !== undefined && sessionNo < row.sessionNo && !isStale;
        if (isAnew) this.#note(id, { forgotten }); // messages of it were forgotten elsewhere
        return false;
      }
      if (row.length === length) return false;
      let isNews = false;
      await this.#bringUp(id, row, (count) => {
        isNews ||= count > 0;
        onMessages(count);
      });
      return isNews;
    } else {
      const { sessionNo, length = 0, head } = this.#notes(id);
      if (isBack && sessionNo !== undefined && (sessionNo !== row.sessionNo || length > row.length)) return false;
      if (sessionNo === row.sessionNo && length >= row.length && head === row.head) return false;
    }
    return (await this.#bring(row, onMessages)) !== undefined;
  }

  /** Makes a copy, or brings it up to date. @returns its id; undefined if another process has taken it, or deleted it. */
  async #bring(row: SessionRow, onMessages: (count: number) => void): Promise<string | undefined> {
    const { sessionNo } = row;
    this.#assertNoLess(row);
    const { head, digest } = await this.#headOf(row);
    const id = this.#store.copies.putHead(head, {
      ...{
        hub: this.#hub,
        origin: row.origin,
        name: row.name,
        sessionNo,
        digest,
        author: row.pushedBy,
      },
      ...{ project: this.#projectOf(row), parentId: this.#parentOf(row, head) },
    });
    if (id === undefined) return undefined;
    for (let isDone = false; !isDone; ) {
      const noted = this.#notes(id);
      if (!this.#isCopy(id) || noted.sessionNo !== sessionNo) return undefined;
      isDone = await this.#bringFrom(id, row, noted.length ?? 0, onMessages);
    }
    return id;
  }

  /**
   * A copy of another hub is made again, and this may be the last one that is whole. Times tell, because lengths of logs do not: a
   * session that was rewound, or that lost messages, is shorter on a hub that got it later.
   *
   * @throws {StoreError} `HUB_REFUSED` if the hub lacks messages at its end.
   */
  #assertNoLess(row: SessionRow): void {
    const { database, messages } = this.#repositories;
    database.read(() => {
      const id = idHere(this.#repositories, row);
      if (id === undefined || !this.#isCopy(id) || this.#notes(id).length !== undefined) return;
      const { lastId } = endOf(this.#repositories, id);
      if ((messages.byId(lastId)?.createdAtMs ?? 0) <= (row.lastAtMs ?? 0)) return;
      const reason = `its session "${id}" ends earlier than the copy here, which came from another hub`;
      const solution = `The copy stays until the store that has the session pushes it. To go on beside it: \`coppice fork ${id}\`.`;
      throw new StoreError("HUB_REFUSED", { hub: this.#hub.name, reason, solution });
    });
  }

  /** Adds to a copy what follows on a place of the log. @returns false if another process has added to it, too. */
  async #bringFrom(id: string, row: SessionRow, from: number, onMessages: (count: number) => void): Promise<boolean> {
    for await (const { events, length: end } of logFrom(this.#hub, row, from, this.#signal)) {
      for (let at = 0; at < events.length; at += BATCH_MESSAGES_MAX) {
        const batch = events.slice(at, at + BATCH_MESSAGES_MAX);
        const place = end - events.length + at;
        const added = this.#store.copies.add(id, batch, { length: place + batch.length }, () => {
          const { sessionNo, length } = this.#notes(id);
          return this.#isCopy(id) && sessionNo === row.sessionNo && length === place;
        });
        if (added === undefined) return false;
        onMessages(added.messageCount);
      }
    }
    return true;
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND` if the session was forgotten meanwhile. */
  async #headOf({ sessionNo, name }: SessionRow): Promise<{ head: SessionHead; digest: string }> {
    const rows = await this.#hub.transaction(async (client) => {
      const sql = `SELECT ${readable("head")} AS bytes, ${HEAD_DIGEST} AS digest FROM ${this.#hub.schema}.sessions WHERE session_no = $1`;
      return (await client.query<{ bytes: Buffer | null; digest: string }>(sql, [sessionNo])).rows;
    }, this.#signal);
    if (rows[0] === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: name });
    return { head: headOf(rows[0].bytes), digest: rows[0].digest };
  }

  /** Brings a session up to date that began here or is taken. @returns how it then is to what the hub has. */
  async #bringUp(
    id: string,
    row: SessionRow,
    onMessages: (count: number) => void,
  ): Promise<"same" | "ahead" | "diverged"> {
    const { sessionNo, length, holder } = row;
    const path = await new Pusher(this.#hub, this.#repositories, this.#storeId, this.#signal).pathOnHub(row);
    let end = this.#endOf(id);
    const { count, entryCount, hasMore, notes } = commonPlace(this.#repositories, id, row, path);
    const events = path.from(count, entryCount);
    if (hasMore && events.length > 0) return "diverged";
    const isCopy = holder === this.#storeId ? undefined : (true as const);
    if (events.length === 0) this.#note(id, { ...notes, sessionNo, length, isCopy });
    for (let from = 0; from < events.length; from += BATCH_MESSAGES_MAX) {
      const batch = events.slice(from, from + BATCH_MESSAGES_MAX);
      const known = JSON.stringify(end);
      const isLast = from + batch.length === events.length;
      const added = this.#store.copies.add(
        id,
        batch,
        isLast ? { sessionNo, length, isCopy } : {},
        () => !this.#isCopy(id) && JSON.stringify(this.#endOf(id)) === known,
      );
      if (added === undefined) return this.#bringUp(id, row, onMessages); // something was appended meanwhile
      onMessages(added.messageCount);
      end = added.end;
    }
    return hasMore ? "ahead" : "same";
  }

  #endOf(id: string): ReturnType<typeof endOf> {
    return this.#repositories.database.read(() => {
      assertHub(this.#repositories, this.#hub); // with the end, its place on the hub is noted
      return endOf(this.#repositories, id);
    });
  }

  /** Makes this store the holder of a session. What the hub has of it is noted. @returns false if the hub has more of it by now. */
  async #take(id: string, row: SessionRow): Promise<boolean> {
    const { database, sessions, tombstones } = this.#repositories;
    const isOwn = database.read(() => beganHere(this.#repositories, id));
    const isMissing =
      this.#notes(id).left !== undefined ||
      ((!isOwn || this.#isCopy(id)) &&
        database.read(() => tombstones.forgottenBefore(id, Number.MAX_SAFE_INTEGER)) !== undefined);
    if (isMissing && !isOwn) throw new StoreError("SESSION_FORGOTTEN", { sessionId: id });
    const isTaken = await this.#hub.transaction(async (client) => {
      const sql = `UPDATE ${this.#hub.schema}.sessions SET holder = $2, pushed_at = clock_timestamp(), pushed_by = session_user
        WHERE session_no = $1 AND length = $3 AND holder IN ($4, $2)`;
      return (await client.query(sql, [row.sessionNo, this.#storeId, row.length, row.holder])).rowCount === 1;
    }, this.#signal);
    if (!isTaken) return false;
    database.write("pull", () => {
      assertHub(this.#repositories, this.#hub);
      sessions.setAuthor(id, null);
      const { sessionNo, length } = row;
      const stale = isMissing && { isStale: true as const }; // what began here is pushed anew without it
      noteOnHub(this.#repositories, id, { isCopy: undefined, sessionNo, length, head: undefined, ...stale });
    });
    return true;
  }

  /** Returns the copies with their names and numbers on the hub. @param numbers  Only those. */
  #copies(numbers?: ReadonlySet<number>): (NameOnHub & { id: string; sessionNo: number; length: number })[] {
    const notes = this.#repositories.database.read(() => {
      assertHub(this.#repositories, this.#hub);
      return allHubNotes(this.#repositories);
    });
    return [...notes].flatMap(([id, { isCopy, sessionNo, length = 0, origin = this.#storeId, name = id }]) => {
      const isAsked = isCopy && sessionNo !== undefined && numbers?.has(sessionNo) !== false;
      return isAsked && this.#isCopy(id) ? { id, sessionNo, length, origin, name } : [];
    });
  }

  /**
   * Asks how many followed sessions have something new, for the numbers of copies whose sessions the hub has no longer, and which of
   * those were begun anew, followed or not. `shorter`: copies of which the hub has less than it had. Then nothing counts as gone.
   */
  async #news(follows: Follows): Promise<{
    sessionCount: number;
    gone: ReadonlySet<number>;
    anew: SessionRow[];
    shorter: { sessionId: string; sessionNo: number; error: StoreError }[];
    now: string;
  }> {
    const copies = this.#copies();
    return this.#hub.transaction(async (client) => {
      const { schema } = this.#hub;
      const sql = `SELECT count(*) AS "sessionCount", now()::text AS now ${FOLLOWED(schema)}`;
      const { rows } = await client.query<{ sessionCount: number; now: string }>(sql, this.#termsOf(follows, 0));
      const { sessionCount, now } = rows[0]!;
      const there = await lengthsThere(
        client,
        schema,
        copies.map(({ sessionNo }) => sessionNo),
      );
      const shorter = copies.flatMap(({ id, sessionNo, length }) => {
        const error = goneBack(this.#hub, id, there.get(sessionNo), length);
        return error === undefined ? [] : { sessionId: id, sessionNo, error };
      });
      const gone = shorter.length > 0 ? [] : copies.filter(({ sessionNo }) => !there.has(sessionNo));
      const named = `SELECT ${SESSION_COLUMNS} FROM ${schema}.sessions
        WHERE length > 0 AND (origin, session_id) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))`;
      const names = [gone.map(({ origin }) => origin), gone.map(({ name }) => name)];
      const anew = gone.length === 0 ? [] : (await client.query<SessionRow>(named, names)).rows;
      const numbers = new Set(gone.map(({ sessionNo }) => sessionNo));
      return { sessionCount: sessionCount + anew.length, gone: numbers, anew, shorter, now };
    }, this.#signal);
  }

  /** Yields the sessions that were begun anew, and the followed ones with something new. */
  async *#followed(follows: Follows, anew: readonly SessionRow[], isBack: boolean): AsyncGenerator<SessionRow> {
    yield* anew;
    for (let last = 0; ; ) {
      const rows = await this.#hub.transaction(async (client) => {
        const sql = `SELECT ${SESSION_COLUMNS} ${FOLLOWED(this.#hub.schema)} ORDER BY session_no LIMIT ${PAGE}`;
        return (await client.query<SessionRow>(sql, this.#termsOf(follows, last, isBack))).rows;
      }, this.#signal);
      yield* rows;
      if (rows.length < PAGE) return;
      last = rows.at(-1)!.sessionNo;
    }
  }

  /** @param isBack  True to leave out what was pushed before the last sync: a hub that has gone back may have what was forgotten since. */
  #termsOf({ mark, retry, projects, all }: Follows, last: number, isBack = false): unknown[] {
    const names = projects.map(({ name }) => name);
    const times = projects.map(({ sinceMs }) => sinceMs);
    return [mark, this.#storeId, all, names, times, isBack ? [] : retry, last, isBack ? "0" : OVERLAP];
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND`, `OPTION_INVALID` if several sessions have the id and the store has none of them. */
  async #find(
    sessionId: string,
    wanted: { project: string | undefined; origin: string | undefined },
  ): Promise<SessionRow> {
    const { name = sessionId, origin: noted, sessionNo } = this.#notes(sessionId);
    const rows = await this.#hub.transaction(async (client) => {
      const sql = `SELECT ${SESSION_COLUMNS} FROM ${this.#hub.schema}.sessions WHERE session_id = $1 AND length > 0
        AND ($2::text IS NULL OR project = $2) AND ($3::text IS NULL OR origin::text = $3)`;
      return (await client.query<SessionRow>(sql, [name, wanted.project ?? null, wanted.origin ?? null])).rows;
    }, this.#signal);
    if (rows.length === 0) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const own = rows.filter(({ origin }) => origin === (noted ?? this.#storeId) && sessionNo !== undefined);
    const found = own.length > 0 ? own : rows;
    if (found.length === 1) return found[0]!;
    const isInProjects = new Set(found.map((row) => row.project)).size === found.length;
    const names = found.map((row) => (isInProjects ? row.project : row.origin)).map((one) => `"${one}"`);
    const [option, what] = isInProjects ? (["project", "projects"] as const) : (["origin", "stores"] as const);
    const expected = `one of the ${what} that have session "${sessionId}": ${names.join(", ")}`;
    throw new StoreError("OPTION_INVALID", { option, expected, actual: wanted[option] });
  }

  #parentOf({ origin }: SessionRow, { parent }: SessionHead): string | undefined {
    return parent === null ? undefined : this.#idOf({ origin, name: parent });
  }

  #idOf(session: NameOnHub): string | undefined {
    return this.#repositories.database.read(() => idHere(this.#repositories, session));
  }

  /** The project of a session here. Only the user's own folders are projects here. */
  #projectOf({ project }: SessionRow): string | null {
    const here = this.#repositories.database.read(() => projectOnHub(this.#repositories, project));
    const name = here === project ? baseNameOf(project) : here;
    return name === "" || (here === project && isPath(name)) ? null : name;
  }

  #isCopy(id: string): boolean {
    const { database, sessions } = this.#repositories;
    return database.read(() => sessions.byId(id)?.author ?? null) !== null;
  }

  #notes(id: string): HubNotes {
    return this.#repositories.database.read(() => {
      assertHub(this.#repositories, this.#hub);
      return hubNotesOf(this.#repositories, id);
    });
  }

  #note(id: string, changes: HubNoteChanges): void {
    this.#repositories.database.write("pull", () => {
      assertHub(this.#repositories, this.#hub);
      noteOnHub(this.#repositories, id, changes);
    });
  }
}

/** True for an error of the hub or of the store, which the next session would meet, too. */
export function isOfAll(error: unknown): boolean {
  return StoreError.is(error) && /^(HUB|STORE|FORMAT)_(?!REFUSED|CORRUPT)/.test(error.code);
}

/** Makes a session of this store one that the hub does not know. */
export function becomeOwn(repositories: Repositories, sessionId: string): void {
  const isOwn = true as const;
  const origin = crypto.randomUUID();
  const nothing = { sessionNo: undefined, length: undefined, lastId: undefined, entryId: undefined, head: undefined };
  const own = { origin, name: undefined, isOwn, isCopy: undefined, forgotten: undefined };
  repositories.database.write("push", () => noteOnHub(repositories, sessionId, { ...nothing, ...own }));
}
