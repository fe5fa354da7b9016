import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import type { SessionSettings } from "../../core/options.ts";
import { Repository } from "../file/repository.ts";
import type { sessions } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { IS_SESSION } from "./paths.ts";

export const SESSION = columns(TABLES.sessions);
export type SessionRow = RowOf<typeof SESSION>;

export type NewSession = Omit<
  typeof sessions.$inferInsert,
  "graduatedSeq" | "evictedSeq" | "frontierVersion" | "checksum"
>;

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
export const LAST_CHARACTER = "\u{10ffff}";

/** SQL: the time of the first or the last message of the session `s`; NULL if it has none. */
export const timeOf = (order: "ASC" | "DESC"): string =>
  `(SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq ${order} LIMIT 1)`;

type ViewCounts = { cluster_members: number; theme_members: number; message_zones: number };

export class SessionRepository extends Repository {
  // Appends and resumes run these.
  readonly byId = this.statement<[id: string], SessionRow>`SELECT ${SESSION} FROM sessions WHERE id = ?`.get;
  /** The row of a session even if it is damaged. Its values are shown to nobody. */
  readonly unchecked = this.statement<[id: string], Omit<SessionRow, "checksum">>`
    SELECT ${SESSION.without("checksum")} FROM sessions WHERE id = ?`.get;
  readonly #insert = this.statement<[Record<string, unknown>]>`${SESSION.insert()}`.run;
  readonly #seal = this.sealing(TABLES.sessions);
  readonly #raw = this.statement<[id: string], Record<string, unknown>>`
    SELECT ${String(SESSION)} FROM sessions WHERE id = ?`.get;
  readonly #moveFrontier = this.statement<[graduatedSeq: number, evictedSeq: number, moveCount: number, id: string]>`
    UPDATE sessions SET graduated_seq = ?, evicted_seq = ?, frontier_version = frontier_version + ? WHERE id = ?`.run;
  /** Makes every process reload the session. */
  readonly countRewrite = this.statement<[id: string]>`
    UPDATE sessions SET frontier_version = frontier_version + 1 WHERE id = ?`.run;
  readonly countRewriteOfAll = this.statement`UPDATE sessions SET frontier_version = frontier_version + 1`.run;
  // Lists, imports, and changes of a session's names run these.
  readonly #setSettings = this.statement<{ id: string; settings: string }>`
    UPDATE sessions SET settings = @settings WHERE id = @id`.run;
  readonly #setAuthor = this.statement<{ id: string; author: string | null }>`
    UPDATE sessions SET author = @author WHERE id = @id`.run;
  readonly #rename = this.statement<{ id: string; title: string }>`
    UPDATE sessions SET title = @title WHERE id = @id`.run;
  readonly #setProject = this.statement<{ ids: string; project: string }>`
    UPDATE sessions SET project = @project WHERE id IN (SELECT value FROM json_each(@ids))`.run;
  /** A fork without a parent lost it, and gets no other one: what it shares is checked against it. */
  readonly #complete = this.statement<{ id: string } & Record<"title" | "project" | "parentSessionId", string | null>>`
    UPDATE sessions SET title = coalesce(title, @title), project = coalesce(project, @project),
      parent_session_id = coalesce(parent_session_id,
        CASE WHEN id NOT IN (SELECT session_id FROM shared_pasts) THEN @parentSessionId END)
    WHERE id = @id`.run;
  readonly #delete = this.statement<[id: string]>`DELETE FROM sessions WHERE id = ?`.run;
  readonly idByExternalId = this.statement<[source: string, externalId: string], string>`
    SELECT id FROM sessions WHERE source = ? AND external_id = ?`.pluck().get;
  /** The external id of an imported session, or of its part in another project, that holds a message or has superseded it. */
  readonly holderOf = this.statement<{ source: string; externalId: string; messageId: string }, string>`
    SELECT own.external_id FROM sessions own JOIN messages m ON m.external_id = @messageId
      AND (m.session_id = own.id OR m.session_id IN (SELECT id FROM sessions WHERE parent_session_id = own.id AND superseded_at_ms IS NOT NULL))
    WHERE own.source = @source AND instr(substr(own.external_id, length(@externalId) + 2), '/') = 0
      AND (own.external_id = @externalId OR own.external_id >= @externalId || '/in-' AND own.external_id < @externalId || '/in.')
    LIMIT 1`.pluck().get;
  readonly #idsWith = this.statement<{ prefix: string; end: string; project: string | null }, string>`
    SELECT id FROM sessions
    WHERE (id >= @prefix AND id < @end OR external_id >= @prefix AND external_id < @end)
      AND (@project IS NULL OR project = @project) AND ${IS_SESSION} ORDER BY id`.pluck().all;
  readonly #idsOfProject = this.statement<{ project: string | null }, string>`
    SELECT id FROM sessions WHERE project = coalesce(@project, project) ORDER BY id`.pluck().all;
  /** All projects with the numbers of their sessions, in order. No checksum is compared: a damaged session may show as one more. */
  readonly projects = this.statement<[], { project: string; sessionCount: number }>`
    SELECT project, count(*) AS sessionCount FROM sessions WHERE project IS NOT NULL AND ${IS_SESSION}
    GROUP BY project ORDER BY project`.all;
  /** Oldest first. */
  readonly ids = this.statement<[], string>`
    SELECT id FROM sessions WHERE ${IS_SESSION} ORDER BY created_at_ms, id`.pluck().all;
  /** The branches of a session, in the order in which they were superseded. */
  readonly branchIds = this.statement<[parentSessionId: string], string>`
    SELECT id FROM sessions WHERE parent_session_id = ? AND superseded_at_ms IS NOT NULL
    ORDER BY superseded_at_ms, id`.pluck().all;
  readonly #children = this.statement<[id: string], string>`
    SELECT id FROM sessions WHERE parent_session_id = ?`.pluck().all;
  readonly #lastRewind = this.statement<[id: string], number>`
    SELECT coalesce(max(rewind_number), 0) FROM sessions WHERE parent_session_id = ?`.pluck();
  /** The branch that `undo` takes back next. */
  readonly newestRewind = this.statement<[id: string], { id: string; forkSeq: number }>`
    SELECT ${columns(TABLES.sessions, "id", "forkSeq")} FROM sessions WHERE parent_session_id = ? AND rewind_number IS NOT NULL
    ORDER BY rewind_number DESC LIMIT 1`.get;
  readonly #branches = this.statement<[id: string], SessionRow & BranchMessages>`
    SELECT ${SESSION.of("s")},
           (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messageCount,
           (SELECT m.id FROM messages m WHERE m.session_id = s.id ORDER BY m.seq LIMIT 1) AS firstMessageId
    FROM sessions s WHERE parent_session_id = ? AND superseded_at_ms IS NOT NULL
    ORDER BY coalesce(rewind_number, 0), superseded_at_ms, id`.all;
  /** The message with this external id that a session has superseded, and its branch. */
  readonly superseded = this.statement<[id: string, externalId: string], SupersededMessage>`
    SELECT m.id, m.seq, ${columns(TABLES.sessions, "forkSeq").of("s")}, s.id AS branchId, s.rewind_number IS NOT NULL AS isUndoable, m.digest
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
    this.#insert(SESSION.stored(session));
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
    this.#change([id], () => this.#setSettings({ id, settings: JSON.stringify(settings) }));
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
    this.#change(this.#children(id), () => this.#delete(id));
  }

  complete(id: string, title: string | null, project: string | null, parentSessionId: string | null): void {
    for (const branchId of this.branchIds(id)) this.complete(branchId, null, project, null);
    this.#change([id], () => this.#complete({ id, title, project, parentSessionId }));
  }

  setProject(ids: readonly string[], project: string): void {
    this.#change(ids, () => this.#setProject({ ids: JSON.stringify(ids), project }));
  }

  rename(id: string, title: string): void {
    this.#change([id], () => this.#rename({ id, title }));
  }

  setAuthor(id: string, author: string | null): void {
    this.#change([id], () => this.#setAuthor({ id, author }));
  }

  /** Ids of the sessions whose own or external id begins with `prefix`, in order. */
  idsWith(prefix: string, project: string | undefined): string[] {
    return this.#idsWith({ prefix, end: prefix + LAST_CHARACTER, project: project ?? null });
  }

  /** The ids of all sessions and branches of a project, or of all that have one, in order. */
  idsOfProject(project?: string): string[] {
    return this.#idsOfProject({ project: project ?? null });
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
