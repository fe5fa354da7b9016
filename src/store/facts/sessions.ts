import { and, count, eq, gte, isNotNull, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { DEFAULT_SETTINGS, type SessionSettings } from "../../core/options.ts";
import { Repository } from "../file/repository.ts";
import { sessions } from "../sql/schema.ts";
import { columns, isAnyOf, type RowOf } from "../sql/statement.ts";

export const SESSION = columns(sessions);
export type SessionRow = RowOf<typeof SESSION>;

export type NewSession = Omit<typeof sessions.$inferInsert, "graduatedSeq" | "evictedSeq" | "frontierVersion">;

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

interface BranchPlace {
  id: string;
  nowMs: number;
  seqLast: number;
  seqEnd: number;
  isUndoable: boolean;
}

/** UTF-8 sorts this character after all others. */
const LAST_CHARACTER = "\u{10ffff}";

/** SQL: the time of the first or the last message of the session `s`; NULL if it has none. */
export const timeOf = (order: "ASC" | "DESC"): string =>
  `(SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq ${order} LIMIT 1)`;

type ViewCounts = { cluster_members: number; theme_members: number; message_zones: number };

/** Rows of `sessions`: sessions and their branches. */
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
  readonly #moveFrontier = this.statement<[graduatedSeq: number, evictedSeq: number, moveCount: number, id: string]>`
    UPDATE sessions SET graduated_seq = ?, evicted_seq = ?, frontier_version = frontier_version + ? WHERE id = ?`.run;
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

  idByExternalId(source: string, externalId: string): string | undefined {
    return this.#idsWhere(and(eq(sessions.source, source), eq(sessions.externalId, externalId)))[0];
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND`, also for a branch. */
  existing(id: string): SessionRow {
    const row = this.byId(id);
    if (row === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: id });
    assertOnPath(row);
    return row;
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

  /** Makes the checksum of an older version cover what that of this version does. */
  renewChecksum(id: string): void {
    this.#change([id], () => {});
  }

  moveFrontier(graduatedSeq: number, evictedSeq: number, id: string, moveCount = 1): void {
    this.#change([id], () => this.#moveFrontier(graduatedSeq, evictedSeq, moveCount, id));
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

  /** The ids of the rows that hold the messages of a session: its own, and those of its branches. */
  withBranches(id: string): string[] {
    return [id, ...this.branchIds(id)];
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
}

/** Returns true for the row of a session, and false for that of a branch. */
export function isSession({ supersededAtMs }: Pick<SessionRow, "supersededAtMs">): boolean {
  return supersededAtMs === null;
}

/** @throws {StoreError} `SESSION_SUPERSEDED` for the row of a branch. */
export function assertOnPath(row: Pick<SessionRow, "id" | "supersededAtMs" | "parentSessionId"> | undefined): void {
  if (row === undefined || isSession(row)) return;
  throw new StoreError("SESSION_SUPERSEDED", { sessionId: row.id, parentSessionId: row.parentSessionId! });
}
