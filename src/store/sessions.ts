import { eq, sql } from "drizzle-orm";
import type { JsonValue } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
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

/** Rows of `sessions`. */
export class SessionRepository {
  readonly #byId;
  readonly #insert;
  readonly #moveFrontier;
  readonly #setSettings;
  readonly #complete;
  readonly #countRewrite;
  readonly #delete;
  readonly #byExternalId;
  readonly #viewCounts;
  readonly #ids;
  readonly #idsWith;
  readonly #list;

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
    // A range of the primary key; U+10FFFF sorts behind every other character.
    this.#idsWith = client
      .prepare<{ prefix: string }, string>(
        "SELECT id FROM sessions WHERE id >= @prefix AND id < @prefix || char(1114111) ORDER BY id",
      )
      .pluck();
    this.#ids = client.prepare<[], string>("SELECT id FROM sessions ORDER BY created_at_ms, id").pluck();
    this.#list = client.prepare<{ project: string | null; id: string | null }, SessionOverview>(
      `SELECT s.id, s.project, s.title, s.source, s.external_id AS externalId, s.parent_session_id AS parentSessionId,
              t.message_count AS messageCount, t.token_count AS tokenCount, t.theme_count AS themeCount,
              t.cluster_count AS clusterCount, s.created_at_ms AS createdAtMs, t.updated_at_ms AS updatedAtMs
       FROM sessions s JOIN session_stats t ON t.session_id = s.id
       WHERE (@project IS NULL OR s.project = @project) AND (@id IS NULL OR s.id = @id)
       ORDER BY t.updated_at_ms DESC, s.id`,
    );
  }

  byId(id: string): SessionRow | undefined {
    return this.#byId.get({ id });
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

  /** Fill in what is NULL. */
  complete(id: string, title: string | null, project: string | null, parentSessionId: string | null): void {
    this.#complete.run(title, project, parentSessionId, id);
  }

  /** How many messages of a session each view says are in the forest. */
  viewCounts(id: string): { cluster_members: number; theme_members: number; message_zones: number } {
    return this.#viewCounts.get({ id })!;
  }

  /** Ids that begin with `prefix`, in order. */
  idsWith(prefix: string): string[] {
    return this.#idsWith.all({ prefix });
  }

  ids(): string[] {
    return this.#ids.all();
  }

  /** Newest first. */
  list(project: string | undefined): SessionOverview[] {
    return this.#list.all({ project: project ?? null, id: null });
  }

  overview(id: string): SessionOverview | undefined {
    return this.#list.get({ project: null, id });
  }
}
