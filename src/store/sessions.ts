import { eq, sql } from "drizzle-orm";
import { IDLE_AFTER_MS, SETTLE_AFTER_MS_MAX, VECTOR_WAIT_MS_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { DEFAULT_SETTINGS, type SessionSettings } from "../core/options.ts";
import type { StoreDatabase } from "./open.ts";
import { sessions } from "./schema.ts";

export type SessionRow = typeof sessions.$inferSelect;

/** What a session is made with. */
export interface NewSession {
  id: string;
  project: string | undefined;
  title: string | undefined;
  source: string | undefined;
  externalId: string | undefined;
  parentSessionId: string | undefined;
  forkSeq: number | undefined;
  settings: SessionSettings;
  metadata: Record<string, JsonValue> | undefined;
  createdAtMs: number;
}

/** A session as lists show it. */
export interface SessionOverview {
  id: string;
  project: string | null;
  title: string | null;
  /** How the user began: 200 characters at most, for lists where there is no title. Null where no user has spoken. */
  opening: string | null;
  source: string | null;
  externalId: string | null;
  parentSessionId: string | null;
  messageCount: number;
  tokenCount: number;
  themeCount: number;
  clusterCount: number;
  createdAtMs: number;
  /** Time of its newest message; of its making while it has none. */
  updatedAtMs: number;
}

/** Which sessions are listed. */
export interface SessionsOptions {
  /** Only this project's. */
  project?: string;
  /** Only those whose newest message is of this time or later, in Unix milliseconds. */
  sinceMs?: number;
  /** At most so many. */
  limit?: number;
  /** How many to pass over, to read on where a page has ended. */
  offset?: number;
}

/** As SQLite says that a number of rows has no limit. */
const ALL = -1;

/** Rows of `sessions`. */
export class SessionRepository {
  readonly #byId;
  readonly #insert;
  readonly #moveFrontier;
  readonly #setSettings;
  readonly #complete;
  readonly #countRewrite;
  readonly #countRewriteOfAll;
  readonly #delete;
  readonly #byExternalId;
  readonly #viewCounts;
  readonly #ids;
  readonly #idsWith;
  readonly #list;
  readonly #idleness;
  readonly #idlePage;

  constructor({ orm, client }: StoreDatabase) {
    this.#byId = orm
      .select()
      .from(sessions)
      .where(eq(sessions.id, sql.placeholder("id")))
      .prepare();
    this.#byExternalId = client
      .prepare<[string, string], string>("SELECT id FROM sessions WHERE source = ? AND external_id = ?")
      .pluck();
    this.#insert = orm
      .insert(sessions)
      .values({
        id: sql.placeholder("id"),
        project: sql.placeholder("project"),
        title: sql.placeholder("title"),
        source: sql.placeholder("source"),
        externalId: sql.placeholder("externalId"),
        parentSessionId: sql.placeholder("parentSessionId"),
        forkSeq: sql.placeholder("forkSeq"),
        settings: sql.placeholder("settings"),
        metadata: sql.placeholder("metadata"),
        createdAtMs: sql.placeholder("createdAtMs"),
      })
      .prepare();
    this.#moveFrontier = client.prepare<[number, number, string]>(
      "UPDATE sessions SET graduated_seq = ?, evicted_seq = ?, frontier_version = frontier_version + 1 WHERE id = ?",
    );
    this.#setSettings = client.prepare<[string, string]>("UPDATE sessions SET settings = ? WHERE id = ?");
    this.#delete = client.prepare<[string]>("DELETE FROM sessions WHERE id = ?");
    this.#countRewriteOfAll = client.prepare<[]>("UPDATE sessions SET frontier_version = frontier_version + 1");
    this.#countRewrite = client.prepare<[string]>(
      "UPDATE sessions SET frontier_version = frontier_version + 1 WHERE id = ?",
    );
    this.#complete = client.prepare<[string | null, string | null, string | null, string]>(
      `UPDATE sessions SET title = coalesce(title, ?), project = coalesce(project, ?),
                           parent_session_id = coalesce(parent_session_id, ?)
       WHERE id = ?`,
    );
    this.#viewCounts = client.prepare<
      { id: string },
      { cluster_members: number; theme_members: number; message_zones: number }
    >(
      `SELECT (SELECT count(*) FROM cluster_members WHERE session_id = @id) AS cluster_members,
              (SELECT count(*) FROM theme_members WHERE session_id = @id) AS theme_members,
              (SELECT count(*) FROM message_zones WHERE session_id = @id AND is_cold) AS message_zones`,
    );
    // Ranges; U+10FFFF sorts behind every other character.
    this.#idsWith = client
      .prepare<{ prefix: string; project: string | null }, string>(
        `SELECT id FROM sessions
         WHERE ((id >= @prefix AND id < @prefix || char(1114111))
            OR (external_id >= @prefix AND external_id < @prefix || char(1114111)))
           AND (@project IS NULL OR project = @project)
         ORDER BY id`,
      )
      .pluck();
    this.#ids = client.prepare<[], string>("SELECT id FROM sessions ORDER BY created_at_ms, id").pluck();
    const timeOf = (order: "ASC" | "DESC"): string =>
      `(SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq ${order} LIMIT 1)`;
    const silentMs = `(@nowMs - ${timeOf("DESC")})`;
    const isIdle = `${silentMs} > ${IDLE_AFTER_MS}`;
    const isOver = `${silentMs} > min(${timeOf("DESC")} - ${timeOf("ASC")}, ${SETTLE_AFTER_MS_MAX})`;
    this.#idleness = client.prepare<{ nowMs: number; id: string }, { isIdle: number; isOver: number }>(
      `SELECT ${isIdle} AS isIdle, ${isIdle} AND ${isOver} AS isOver FROM sessions s WHERE s.id = @id`,
    );
    // By the first and the newest message and the newest step of each session: its other messages are not looked at.
    this.#idlePage = client.prepare<{ nowMs: number; after: string; limit: number }, { id: string; isDue: number }>(
      `WITH s AS (SELECT id, graduated_seq FROM sessions WHERE id > @after ORDER BY id LIMIT @limit)
       SELECT s.id, ${isIdle}
         AND NOT EXISTS (
           SELECT 1 FROM pending_vectors p JOIN messages m ON m.id = p.message_id
           WHERE p.session_id = s.id AND p.status = 'due' AND m.pinned = 0 AND p.due_since_ms > @nowMs - ${VECTOR_WAIT_MS_MAX})
         AND (${isOver} AND EXISTS (SELECT 1 FROM clusters c WHERE c.session_id = s.id AND c.settled_at IS NULL)
           OR EXISTS (
             SELECT 1 FROM messages m
             WHERE m.session_id = s.id AND m.seq >= s.graduated_seq AND m.pinned = 0 AND m.seq < (
               SELECT first.seq FROM messages last JOIN messages first ON first.id = last.step_id
               WHERE last.session_id = s.id AND last.pinned = 0 ORDER BY last.seq DESC LIMIT 1))) AS isDue
       FROM s ORDER BY s.id`,
    );
    // The page is chosen by the newest message of each session; only those on it have theirs counted.
    this.#list = client.prepare<
      { project: string | null; id: string | null; sinceMs: number | null; limit: number; offset: number },
      SessionOverview
    >(
      `WITH page AS MATERIALIZED (
         SELECT s.*, coalesce(${timeOf("DESC")}, s.created_at_ms) AS updated_at_ms FROM sessions s
         WHERE (@project IS NULL OR s.project = @project) AND (@id IS NULL OR s.id = @id)
           AND (@sinceMs IS NULL OR updated_at_ms >= @sinceMs)
         ORDER BY updated_at_ms DESC, s.id LIMIT @limit OFFSET @offset)
       SELECT s.id, s.project, s.title,
              (SELECT substr(m.text, 1, 200) FROM messages m
               WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> '' ORDER BY m.seq LIMIT 1) AS opening,
              s.source, s.external_id AS externalId, s.parent_session_id AS parentSessionId,
              (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messageCount,
              (SELECT coalesce(sum(m.token_count), 0) FROM messages m WHERE m.session_id = s.id) AS tokenCount,
              (SELECT count(*) FROM themes t WHERE t.session_id = s.id) AS themeCount,
              (SELECT count(*) FROM clusters c WHERE c.session_id = s.id) AS clusterCount,
              s.created_at_ms AS createdAtMs, s.updated_at_ms AS updatedAtMs
       FROM page s ORDER BY s.updated_at_ms DESC, s.id`,
    );
  }

  byId(id: string): SessionRow | undefined {
    const row = this.#byId.get({ id });
    // A session of an older version lacks the options that have come since.
    return row === undefined ? undefined : { ...row, settings: { ...DEFAULT_SETTINGS, ...row.settings } };
  }

  idByExternalId(source: string, externalId: string): string | undefined {
    return this.#byExternalId.get(source, externalId);
  }

  insert(session: NewSession): void {
    this.#insert.run({
      ...session,
      project: session.project ?? null,
      title: session.title ?? null,
      source: session.source ?? null,
      externalId: session.externalId ?? null,
      parentSessionId: session.parentSessionId ?? null,
      forkSeq: session.forkSeq ?? null,
      metadata: session.metadata ?? null,
    });
  }

  moveFrontier(id: string, graduatedSeq: number, evictedSeq: number): void {
    this.#moveFrontier.run(graduatedSeq, evictedSeq, id);
  }

  setSettings(id: string, settings: SessionSettings): void {
    this.#setSettings.run(JSON.stringify(settings), id);
  }

  /** Everything of a session goes with it; sessions that it started stay, without a parent. */
  delete(id: string): void {
    this.#delete.run(id);
  }

  /** Let every process that holds the session load it again. */
  countRewrite(id: string): void {
    this.#countRewrite.run(id);
  }

  /** The same for all sessions. */
  countRewriteOfAll(): void {
    this.#countRewriteOfAll.run();
  }

  /** Fill in what is NULL. */
  complete(id: string, title: string | null, project: string | null, parentSessionId: string | null): void {
    this.#complete.run(title, project, parentSessionId, id);
  }

  /** How many messages of a session each view says are in the forest. */
  viewCounts(id: string): { cluster_members: number; theme_members: number; message_zones: number } {
    return this.#viewCounts.get({ id })!;
  }

  /** Ids of the sessions whose own or external id begins with `prefix`, in order; of all projects unless one is named. */
  idsWith(prefix: string, project: string | undefined): string[] {
    return this.#idsWith.all({ prefix, project: project ?? null });
  }

  ids(): string[] {
    return this.#ids.all();
  }

  /**
   * Whether nobody has spoken in a session for a day (`IDLE_AFTER_MS`), and whether it is also over for now: silent for
   * longer than it lasted, or for `SETTLE_AFTER_MS_MAX`.
   *
   * @param nowMs  Unix milliseconds, as everywhere here.
   */
  idleness(id: string, nowMs: number): { isIdle: boolean; isOver: boolean } {
    const row = this.#idleness.get({ id, nowMs });
    return { isIdle: row?.isIdle === 1, isOver: row?.isOver === 1 };
  }

  /**
   * Sessions that are quiet and not at rest: a step before the newest is not in the forest, or the session is over for now
   * and a cluster is open. One that waits for a vector is not due yet.
   *
   * @param after  Id after which to look, in order of id.
   * @param limit  Sessions looked at.
   * @returns also the id to go on after; undefined at the end.
   */
  idlePage(nowMs: number, after: string, limit: number): { due: string[]; last: string | undefined } {
    const page = this.#idlePage.all({ nowMs, after, limit });
    const due = page.filter(({ isDue }) => isDue === 1).map(({ id }) => id);
    return { due, last: page.length < limit ? undefined : page.at(-1)!.id };
  }

  /** Newest first. */
  list({ project, sinceMs, limit = ALL, offset = 0 }: SessionsOptions): SessionOverview[] {
    return this.#list.all({ project: project ?? null, id: null, sinceMs: sinceMs ?? null, limit, offset });
  }

  overview(id: string): SessionOverview | undefined {
    return this.#list.get({ project: null, id, sinceMs: null, limit: 1, offset: 0 });
  }
}
