import { and, count, eq, gte, isNotNull, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { IDLE_AFTER_MS, SETTLE_AFTER_MS_MAX, VECTOR_WAIT_IDLE_MS_MAX } from "../core/limits.ts";
import { DEFAULT_SETTINGS, type SessionSettings } from "../core/options.ts";
import { HIDDEN, tagNamespace } from "../core/tags.ts";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import type { ItemRepository } from "./items.ts";
import { MESSAGE } from "./message-columns.ts";
import type { StoreDatabase } from "./open.ts";
import type { PathRepository, Piece } from "./paths.ts";
import { Repository } from "./repository.ts";
import { sessions } from "./schema.ts";
import { columns, isAnyOf, type RowOf } from "./statement.ts";
import type { ThemeRepository } from "./themes.ts";

const SESSION = columns(sessions);
export type SessionRow = RowOf<typeof SESSION>;

/** What `list` reads. */
type ListedSession = SessionRow &
  Pick<SessionOverview, "messageCount" | "clusterCount"> & {
    newestId: number | null;
    openingId: number | null;
    isFork: number;
  };

export type NewSession = Omit<typeof sessions.$inferInsert, "graduatedSeq" | "evictedSeq" | "frontierVersion">;

/** A session as lists show it. */
export interface SessionOverview {
  id: string;
  project: string | null;
  title: string | null;
  /** In order. Lists for people leave out a session with the tag `hidden`. */
  tags: string[];
  /** The first 200 characters that the user wrote, for lists of sessions without titles. Null if no user has written. */
  opening: string | null;
  source: string | null;
  externalId: string | null;
  /** The session that started it, or that it was forked from. */
  parentSessionId: string | null;
  /** For a fork, the seq of the last message that it has in common with its parent. */
  forkSeq: number | null;
  messageCount: number;
  tokenCount: number;
  themeCount: number;
  clusterCount: number;
  createdAtMs: number;
  /** When the newest message was appended, or the session was created. */
  updatedAtMs: number;
}

/** Filters and pages a list of sessions. */
export interface SessionsOptions {
  /** Only sessions of this project. */
  project?: string;
  /** Only sessions whose newest message is of this time or later, in Unix milliseconds. */
  sinceMs?: number;
  /** Only sessions with this tag. */
  tag?: string;
  /** False leaves out sessions with the tag `hidden`. */
  hidden?: boolean;
  /** The most sessions to list. */
  limit?: number;
  /** The number of sessions to skip, to continue after a page. */
  offset?: number;
  /** Called for each session that cannot be read, and is left out. Without this function, the first of them throws. */
  onUnreadable?: (unreadable: Unreadable) => void;
}

/** A session, or one message of it, that is damaged. */
export interface Unreadable {
  sessionId: string;
  /** Left out if the session itself is damaged, and not one of its messages. */
  seq?: number;
  reason: string;
}

/** Messages that a session has superseded. */
export interface Branch {
  id: string;
  /** The seq after which the branch begins; -1 if it begins with the session. */
  afterSeq: number;
  supersededAtMs: number;
  messageCount: number;
  /** Null if all of its messages were forgotten. */
  firstMessageId: number | null;
  /** True if `undo` can bring its messages back. */
  isUndoable: boolean;
}

type BranchMessages = Pick<Branch, "messageCount" | "firstMessageId">;

interface SupersededMessage {
  id: number;
  seq: number;
  branchId: string;
  forkSeq: number;
  isUndoable: number;
  digest: Buffer;
}

interface AwakeSession {
  id: string;
  hasWork: number;
  /** Null if the session has no messages. */
  isDue: number | null;
}

interface BranchPlace {
  id: string;
  nowMs: number;
  seqLast: number;
  seqEnd: number;
  isUndoable: boolean;
}

type Sizes = { tokenCount: number; themeCount: number };

const ALL = -1;

const OPENING_CHARS = 200;

/** UTF-8 sorts this character after all others. */
const LAST_CHARACTER = "\u{10ffff}";

type Page = {
  project: string | null;
  id: string | null;
  sinceMs: number | null;
  /** The namespaces of a tag that sessions must have, and of one that they must not have, as JSON. */
  tag: string | null;
  notTag: string | null;
  limit: number;
  offset: number;
};
type ViewCounts = { cluster_members: number; theme_members: number; message_zones: number };

const timeOf = (order: "ASC" | "DESC"): string =>
  `(SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq ${order} LIMIT 1)`;
const SILENT_MS = `(@nowMs - ${timeOf("DESC")})`;
const IS_IDLE = `${SILENT_MS} > ${IDLE_AFTER_MS}`;
const IS_OVER = `${SILENT_MS} > min(${timeOf("DESC")} - ${timeOf("ASC")}, ${SETTLE_AFTER_MS_MAX})`;
const HAS_OPEN_CLUSTER = "EXISTS (SELECT 1 FROM clusters c WHERE c.session_id = s.id AND c.settled_at IS NULL)";
/** A step before the newest one is not in the forest yet. */
const HAS_UNGRADUATED = `EXISTS (
  SELECT 1 FROM messages m
  WHERE m.session_id = s.id AND m.seq >= s.graduated_seq AND m.pinned = 0 AND m.seq < (
    SELECT first.seq FROM messages last JOIN messages first ON first.id = last.step_id
    WHERE last.session_id = s.id AND last.pinned = 0 ORDER BY last.seq DESC LIMIT 1))`;
/** A branch has no forest of its own. */
const HAS_WORK = `(s.superseded_at_ms IS NULL AND (${HAS_OPEN_CLUSTER} OR ${HAS_UNGRADUATED}))`;
const IS_AWAKE = "EXISTS (SELECT 1 FROM awake_sessions WHERE session_id = s.id)";

/** Sessions are chosen by their newest messages. Only messages of chosen sessions are counted. */
const PAGE = `page AS MATERIALIZED (
  SELECT s.*, coalesce(${timeOf("DESC")}, s.created_at_ms) AS updated_at_ms FROM sessions s
  WHERE (@project IS NULL OR s.project = @project) AND (@id IS NULL OR s.id = @id)
    AND (@sinceMs IS NULL OR updated_at_ms >= @sinceMs) AND s.superseded_at_ms IS NULL
    AND (@tag IS NULL OR EXISTS (SELECT 1 FROM items WHERE namespace = @tag AND key = s.id))
    AND (@notTag IS NULL OR NOT EXISTS (SELECT 1 FROM items WHERE namespace = @notTag AND key = s.id))
  ORDER BY updated_at_ms DESC, s.id LIMIT @limit OFFSET @offset)`;

/** Rows of `sessions`: single sessions, their branches, which of them are idle, and the pages that `Store.sessions` returns. */
export class SessionRepository extends Repository {
  // Appends and resumes run these. A session of an older version lacks options that were added later.
  readonly byId = this.statement<[id: string], SessionRow>`SELECT ${SESSION} FROM sessions WHERE id = ?`.map((row) => ({
    ...row,
    settings: { ...DEFAULT_SETTINGS, ...row.settings },
  })).get;
  /** The row of a session even if it is damaged. Its values are shown to nobody. */
  readonly unchecked = this.statement<[id: string], Omit<SessionRow, "checksum">>`
    SELECT ${SESSION.without("checksum")} FROM sessions WHERE id = ?`.get;
  readonly #seal = this.sealing(sessions);
  readonly #raw = this.statement<[id: string], Record<string, unknown>>`
    SELECT ${String(SESSION)} FROM sessions WHERE id = ?`.get;
  readonly #moveFrontier = this.statement<[graduatedSeq: number, evictedSeq: number, id: string]>`
    UPDATE sessions SET graduated_seq = ?, evicted_seq = ?, frontier_version = frontier_version + 1 WHERE id = ?`.run;
  readonly #children = this.statement<[id: string], string>`
    SELECT id FROM sessions WHERE parent_session_id = ?`.pluck().all;
  readonly #lastRewind = this.statement<[id: string], number>`
    SELECT coalesce(max(rewind_number), 0) FROM sessions WHERE parent_session_id = ?`.pluck();
  /** The branch that `undo` takes back next. */
  readonly newestRewind = this.statement<[id: string], { id: string; forkSeq: number }>`
    SELECT ${columns(sessions, "id", "forkSeq")} FROM sessions WHERE parent_session_id = ? AND rewind_number IS NOT NULL
    ORDER BY rewind_number DESC LIMIT 1`.get;
  readonly #branches = this.statement<[id: string], SessionRow & BranchMessages>`
    SELECT ${SESSION.of("s")},
           (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messageCount,
           (SELECT m.id FROM messages m WHERE m.session_id = s.id ORDER BY m.seq LIMIT 1) AS firstMessageId
    FROM sessions s WHERE parent_session_id = ? AND superseded_at_ms IS NOT NULL
    ORDER BY coalesce(rewind_number, 0), superseded_at_ms, id`.all;
  // Subqueries for each row, and views. They read only a few messages of each session.
  readonly #idleness = this.statement<{ nowMs: number; id: string }, { isIdle: number; isOver: number }>`
    SELECT ${IS_IDLE} AS isIdle, ${IS_IDLE} AND ${IS_OVER} AS isOver FROM sessions s WHERE s.id = @id`;
  readonly #awakePage = this.statement<{ nowMs: number; after: string; limit: number }, AwakeSession>`
    SELECT s.id, ${HAS_WORK} AS hasWork, ${IS_IDLE}
      AND NOT EXISTS (
        SELECT 1 FROM pending_vectors p JOIN messages m ON m.id = p.message_id
        WHERE p.session_id = s.id AND p.status = 'due' AND m.pinned = 0 AND p.due_since_ms > @nowMs - ${VECTOR_WAIT_IDLE_MS_MAX})
      AND ${HAS_WORK} AND (${IS_OVER} OR ${HAS_UNGRADUATED}) AS isDue
    FROM awake_sessions a JOIN sessions s ON s.id = a.session_id
    WHERE a.session_id > @after ORDER BY a.session_id LIMIT @limit`;
  readonly #sleep = this.statement<[ids: string]>`
    DELETE FROM awake_sessions WHERE session_id IN (
      SELECT s.id FROM json_each(?) given JOIN sessions s ON s.id = given.value WHERE NOT ${HAS_WORK})`.run;
  /** How many sessions upkeep has work for and would not find. */
  readonly asleepWithWork = this.statement<[], number>`
    SELECT count(*) FROM sessions s WHERE ${HAS_WORK} AND NOT ${IS_AWAKE}`.pluck().one;
  readonly wakeAll = this.statement`
    INSERT INTO awake_sessions SELECT id FROM sessions s WHERE ${HAS_WORK} AND NOT ${IS_AWAKE}`.run;
  readonly #pageIds = this.statement<Page, string>`
    WITH ${PAGE} SELECT id FROM page ORDER BY updated_at_ms DESC, id`.pluck().all;
  readonly #list = this.statement<Page, ListedSession>`
    WITH ${PAGE}
    SELECT ${SESSION.of("s")},
           (SELECT m.id FROM messages m WHERE m.session_id = s.id ORDER BY m.seq DESC LIMIT 1) AS newestId,
           (SELECT m.id FROM messages m
            WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> '' ORDER BY m.seq LIMIT 1) AS openingId,
           (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messageCount,
           (SELECT count(*) FROM clusters c WHERE c.session_id = s.id) AS clusterCount,
           EXISTS (SELECT 1 FROM shared_pasts p WHERE p.session_id = s.id) AS isFork
    FROM page s ORDER BY s.updated_at_ms DESC, s.id`;
  readonly #messages = this.statement<[ids: string], RowOf<typeof MESSAGE>>`
    SELECT ${MESSAGE} FROM messages WHERE id IN (SELECT value FROM json_each(?))`.allOf;
  /** The tokens of the messages of a session that are in no theme. */
  readonly #outside = this.statement<{ id: string; graduatedSeq: number; seqLast: number }, number>`
    SELECT coalesce(sum(token_count), 0) FROM (
      SELECT token_count FROM messages WHERE session_id = @id AND seq BETWEEN @graduatedSeq AND @seqLast
      UNION ALL SELECT token_count FROM messages
      WHERE session_id = @id AND seq < @graduatedSeq AND seq <= @seqLast AND pinned = 1)`.pluck().one;
  readonly #countIn = this.statement<Piece, number>`
    SELECT count(*) FROM messages WHERE session_id = @sessionId AND seq BETWEEN @seqFirst AND @seqLast`.pluck().one;
  readonly #openingIn = this.statement<[sessionId: string, seqLast: number], number>`
    SELECT id FROM messages
    WHERE session_id = ? AND role = 'user' AND text <> '' AND seq <= ? ORDER BY seq LIMIT 1`.pluck();
  /** The message with this external id that a session has superseded, and its branch. */
  readonly superseded = this.statement<[id: string, externalId: string], SupersededMessage>`
    SELECT m.id, m.seq, ${columns(sessions, "forkSeq").of("s")}, s.id AS branchId, s.rewind_number IS NOT NULL AS isUndoable, m.digest
    FROM sessions s JOIN messages m ON m.session_id = s.id
    WHERE s.parent_session_id = ? AND s.superseded_at_ms IS NOT NULL AND m.external_id = ? LIMIT 1`.get;
  readonly #undoableAfter = this.statement<[id: string, seq: number], string>`
    SELECT id FROM sessions WHERE parent_session_id = ? AND fork_seq > ? AND rewind_number IS NOT NULL`.pluck().all;
  readonly #endUndo = this.statement<[ids: string]>`
    UPDATE sessions SET rewind_number = NULL WHERE id IN (SELECT value FROM json_each(?))`.run;
  /** The superseded messages of a session that have no external id, by seq. */
  readonly supersededAt = this.statement<[id: string, seq: number], { id: number; seq: number; digest: Buffer }>`
    SELECT m.id, m.seq, m.digest FROM sessions s JOIN messages m ON m.session_id = s.id
    WHERE s.parent_session_id = ? AND s.superseded_at_ms IS NOT NULL AND m.seq = ? AND m.external_id IS NULL`.all;
  /** How many of a session's messages are in the forest, by each view. */
  readonly viewCounts = this.statement<{ id: string }, ViewCounts>`
    SELECT (SELECT count(*) FROM cluster_members WHERE session_id = @id) AS cluster_members,
           (SELECT count(*) FROM theme_members WHERE session_id = @id) AS theme_members,
           (SELECT count(*) FROM message_zones WHERE session_id = @id AND is_cold) AS message_zones`.one;

  readonly #paths: PathRepository;
  readonly #themes: ThemeRepository;
  readonly #items: ItemRepository;

  constructor(database: StoreDatabase, paths: PathRepository, themes: ThemeRepository, items: ItemRepository) {
    super(database);
    this.#paths = paths;
    this.#themes = themes;
    this.#items = items;
  }

  idByExternalId(source: string, externalId: string): string | undefined {
    return this.#idsWhere(and(eq(sessions.source, source), eq(sessions.externalId, externalId)))[0];
  }

  /** @throws {DamageError} if there is no such session, although another row names it. */
  known(id: string): SessionRow {
    const row = this.byId(id);
    if (row === undefined) throw new DamageError(`session "${id}" is missing, or in no index`);
    return row;
  }

  /**
   * Adds a branch for the messages from after `seqLast` to before `seqEnd`, as if all of them had left the window. It has no title,
   * because that of its session may change.
   */
  insertBranch(
    { id, nowMs, seqLast, seqEnd, isUndoable }: BranchPlace,
    { id: parentSessionId, project, settings }: SessionRow,
  ): void {
    const rewindNumber = isUndoable ? this.#lastRewind.one(parentSessionId) + 1 : null;
    this.insert({
      ...{ id, parentSessionId, project, settings, rewindNumber },
      ...{ forkSeq: seqLast, createdAtMs: nowMs, supersededAtMs: nowMs },
    });
    this.moveFrontier(seqEnd, seqEnd, id);
  }

  insert(session: NewSession): void {
    this.orm.insert(sessions).values(session).run();
    this.#seal(session.id);
  }

  /** The ids of sessions whose newest message is of this time or later, newest first. */
  idsSince({ project, ...page }: { project?: string | undefined; sinceMs: number; limit: number }): string[] {
    return this.#pageIds(pageOf({ ...page, ...(project !== undefined && { project }), hidden: false }));
  }

  /** Makes the checksum of an older version cover what that of this version does. */
  renewChecksum(id: string): void {
    this.#change([id], () => {});
  }

  moveFrontier(graduatedSeq: number, evictedSeq: number, id: string): void {
    this.#change([id], () => this.#moveFrontier(graduatedSeq, evictedSeq, id));
  }

  /** Keeps `undo` from taking back what a session superseded after a seq. */
  endUndoAfter(id: string, seq: number): void {
    const branchIds = this.#undoableAfter(id, seq);
    this.#change(branchIds, () => this.#endUndo(JSON.stringify(branchIds)));
  }

  setSettings(id: string, settings: SessionSettings): void {
    this.#change([id], () => this.orm.update(sessions).set({ settings }).where(eq(sessions.id, id)).run());
  }

  /** Changes sessions and their checksums. A damaged row stays damaged. */
  #change(ids: readonly string[], change: () => void): void {
    const sound = ids.filter((id) => {
      const row = this.#raw(id);
      return row !== undefined && SESSION.damageOf(row) === undefined;
    });
    change();
    for (const id of sound) this.#seal(id);
  }

  /** Deletes a session and everything in it. Its forks stay, without a parent. */
  delete(id: string): void {
    this.#change(this.#children(id), () => this.orm.delete(sessions).where(eq(sessions.id, id)).run());
  }

  /** Makes every process reload the session, or all sessions if there is no id. */
  countRewrite(id?: string): void {
    this.orm
      .update(sessions)
      .set({ frontierVersion: sql`${sessions.frontierVersion} + 1` })
      .where(id === undefined ? undefined : eq(sessions.id, id))
      .run();
  }

  /** Sets values that are NULL. A fork without a parent lost it, and gets no other one: what it shares is checked against it. */
  complete(id: string, title: string | null, project: string | null, parentSessionId: string | null): void {
    for (const branchId of this.branchIds(id)) this.complete(branchId, null, project, null);
    const values = {
      title: sql`coalesce(${sessions.title}, ${title})`,
      project: sql`coalesce(${sessions.project}, ${project})`,
      parentSessionId: sql`coalesce(${sessions.parentSessionId},
        CASE WHEN ${sessions.id} NOT IN (SELECT session_id FROM shared_pasts) THEN ${parentSessionId} END)`,
    };
    this.#change([id], () => this.orm.update(sessions).set(values).where(eq(sessions.id, id)).run());
  }

  setProject(ids: readonly string[], project: string): void {
    this.#change(ids, () => this.orm.update(sessions).set({ project }).where(isAnyOf(sessions.id, ids)).run());
  }

  rename(id: string, title: string): void {
    this.#change([id], () => this.orm.update(sessions).set({ title }).where(eq(sessions.id, id)).run());
  }

  /** Ids of the sessions whose own or external id begins with `prefix`, in order. */
  idsWith(prefix: string, project: string | undefined): string[] {
    const [own, external] = [sessions.id, sessions.externalId].map((column) => {
      return and(gte(column, prefix), lt(column, prefix + LAST_CHARACTER));
    });
    const isOfProject = project === undefined ? undefined : eq(sessions.project, project);
    return this.#idsWhere(and(or(own, external), isOfProject, isNull(sessions.supersededAtMs)), sessions.id);
  }

  /** The ids of all sessions and branches of a project, or of all that have one, in order. */
  idsOfProject(project?: string): string[] {
    return this.#idsWhere(
      project === undefined ? isNotNull(sessions.project) : eq(sessions.project, project),
      sessions.id,
    );
  }

  /** All projects with the numbers of their sessions, in order. No checksum is compared: a damaged session may show as one more. */
  projects(): { project: string; sessionCount: number }[] {
    return this.orm
      .select({ project: sql<string>`${sessions.project}`, sessionCount: count() })
      .from(sessions)
      .where(and(isNotNull(sessions.project), isNull(sessions.supersededAtMs)))
      .groupBy(sessions.project)
      .orderBy(sessions.project)
      .all();
  }

  /** Oldest first. */
  ids(): string[] {
    return this.#idsWhere(isNull(sessions.supersededAtMs), sessions.createdAtMs, sessions.id);
  }

  /** The branches of a session, in the order in which they were superseded. */
  branchIds(parentSessionId: string): string[] {
    const isBranch = and(eq(sessions.parentSessionId, parentSessionId), isNotNull(sessions.supersededAtMs));
    return this.#idsWhere(isBranch, sessions.supersededAtMs, sessions.id);
  }

  /** Branches that `undo` can bring back come last, with the next one at the end. @throws {DamageError} if one is damaged. */
  branches(parentSessionId: string): Branch[] {
    return this.#branches(parentSessionId).map((row) => {
      const { id, forkSeq, supersededAtMs, rewindNumber, messageCount, firstMessageId } = row;
      return {
        afterSeq: forkSeq!,
        id,
        supersededAtMs: supersededAtMs!,
        messageCount,
        firstMessageId,
        isUndoable: rewindNumber !== null,
      };
    });
  }

  #idsWhere(condition: SQL | undefined, ...order: (SQLiteColumn | SQL)[]): string[] {
    const rows = this.orm.select({ id: sessions.id }).from(sessions).where(condition);
    const ordered = rows.orderBy(...order).all();
    return ordered.map(({ id }) => id);
  }

  /** A session is over if it is idle, and silent for longer than it lasted or for `SETTLE_AFTER_MS_MAX`. */
  idleness(id: string, nowMs: number): { isIdle: boolean; isOver: boolean } {
    const row = this.#idleness.get({ id, nowMs });
    return { isIdle: row?.isIdle === 1, isOver: row?.isOver === 1 };
  }

  /**
   * Finds idle sessions that upkeep has work for among the next `limit` awake sessions after an id. Either a step can still
   * graduate, or the session is over and has open clusters. Sessions that wait for a vector are left out.
   *
   * @returns also the sessions without any work, and the id to continue after; undefined at the end.
   */
  awakePage(nowMs: number, after: string, limit: number): { due: string[]; done: string[]; last: string | undefined } {
    const page = this.#awakePage.all({ nowMs, after, limit });
    const due = page.filter(({ isDue }) => isDue === 1).map(({ id }) => id);
    const done = page.filter(({ hasWork }) => hasWork === 0).map(({ id }) => id);
    return { due, done, last: page.length < limit ? undefined : page.at(-1)!.id };
  }

  /** Leaves these sessions out of `awakePage` until a message comes or their frontier changes, unless there is work for them. */
  sleep(ids: readonly string[]): void {
    this.#sleep(JSON.stringify(ids));
  }

  /** Newest first. @throws {DamageError} if a session, or a message that is shown of one, is damaged. */
  list(options: SessionsOptions): SessionOverview[] {
    return this.#overviews(pageOf(options));
  }

  /** The ids of what `list` would return, damaged or not. */
  listedIds(options: SessionsOptions): string[] {
    return this.#pageIds(pageOf(options));
  }

  overview(id: string): SessionOverview | undefined {
    return this.#overviews({ ...pageOf({ limit: 1 }), id })[0];
  }

  #overviews(page: Page): SessionOverview[] {
    const listed = this.#list.all(page);
    // A row of zeros reads as NULL, as a row does that a join has not found.
    if (listed.some(({ id }) => id === null)) throw new DamageError("a session has no id");
    const rows = listed.map((row) => (row.isFork === 1 ? this.#withPast(row) : row));
    const shownIds = rows.flatMap(({ newestId, openingId }) => [newestId, openingId]).filter((id) => id !== null);
    const shown = new Map(this.#messages(shownIds).map((message) => [message.id, message]));
    const tags = this.#items.tagsOf(rows.map(({ id }) => id));
    return rows.map((row) => {
      const { id, project, title, source, externalId, parentSessionId, forkSeq, newestId, openingId, ...counts } = row;
      const { messageCount, clusterCount, createdAtMs } = counts;
      const names = { id, project, title, tags: tags.get(id) ?? [] };
      const opening = openingId === null ? null : beginningOf(known(shown, openingId).text);
      const updatedAtMs = newestId === null ? createdAtMs : known(shown, newestId).createdAtMs;
      return {
        ...{ ...names, opening, source, externalId, parentSessionId, forkSeq, messageCount },
        ...{ ...this.#sizesOf(row), clusterCount, createdAtMs, updatedAtMs },
      };
    });
  }

  /** Counts the messages that a fork shares, too. */
  #withPast(row: ListedSession): ListedSession {
    const past = this.#paths.of(row.id).slice(0, -1);
    const messageCount = past.reduce((count, piece) => count + this.#countIn(piece), row.messageCount);
    const openings = past.map(({ sessionId, seqLast }) => this.#openingIn.get(sessionId, seqLast));
    const openingId = openings.find((id) => id !== undefined) ?? row.openingId;
    const clusterCount = sumOf(this.#themesOf(row.id), "clusterCount");
    return { ...row, messageCount, openingId, clusterCount };
  }

  /** Adds up the themes and the messages outside them. */
  #sizesOf({ id, graduatedSeq }: ListedSession): Sizes {
    const themes = this.#themesOf(id);
    const outside = this.#paths.of(id).map(({ sessionId, seqLast }) => {
      return this.#outside({ id: sessionId, graduatedSeq, seqLast });
    });
    const tokenCount = outside.reduce((sum, tokens) => sum + tokens, sumOf(themes, "tokenCount"));
    return { tokenCount, themeCount: themes.length };
  }

  #themesOf(id: string): GrowingTheme["theme"][] {
    return this.#themes.ofSession(id).map(({ theme }) => theme);
  }
}

/** @throws {StoreError} `SESSION_SUPERSEDED` for the row of a branch. */
export function assertOnPath(row: Pick<SessionRow, "id" | "supersededAtMs" | "parentSessionId"> | undefined): void {
  if (row === undefined || row.supersededAtMs === null) return;
  throw new StoreError("SESSION_SUPERSEDED", { sessionId: row.id, parentSessionId: row.parentSessionId ?? "" });
}

/** @throws {DamageError} if an index names a message that is missing. */
function known(messages: ReadonlyMap<number, RowOf<typeof MESSAGE>>, id: number): RowOf<typeof MESSAGE> {
  const message = messages.get(id);
  if (message === undefined) throw new DamageError(`message ${id} is missing, and in an index`);
  return message;
}

function beginningOf(text: string): string {
  return Array.from(text.slice(0, 2 * OPENING_CHARS))
    .slice(0, OPENING_CHARS)
    .join("");
}

function sumOf<K extends string>(rows: readonly Record<K, number>[], key: K): number {
  return rows.reduce((sum, row) => sum + row[key], 0);
}

function pageOf({ project, sinceMs, tag, hidden = true, limit = ALL, offset = 0 }: SessionsOptions): Page {
  const tags = {
    tag: tag === undefined ? null : JSON.stringify(tagNamespace(tag)),
    notTag: hidden ? null : JSON.stringify(tagNamespace(HIDDEN)),
  };
  return { project: project ?? null, id: null, sinceMs: sinceMs ?? null, ...tags, limit, offset };
}
