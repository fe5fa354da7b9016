import { IDLE_AFTER_MS, SETTLE_AFTER_MS_MAX, VECTOR_WAIT_IDLE_MS_MAX } from "../../core/limits.ts";
import { IS_SESSION } from "../facts/paths.ts";
import { timeOf } from "../facts/sessions.ts";
import { Repository } from "../file/repository.ts";

interface AwakeSession {
  id: string;
  hasWork: number;
  /** Null if the session has no messages. */
  isDue: number | null;
}

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
const HAS_WORK = `(s.${IS_SESSION} AND (${HAS_OPEN_CLUSTER} OR ${HAS_UNGRADUATED}))`;
const IS_AWAKE = "EXISTS (SELECT 1 FROM awake_sessions WHERE session_id = s.id)";

/** Which sessions upkeep has work for. A trigger wakes a session when a message comes. */
export class AwakeSessionRepository extends Repository {
  // Subqueries for each row, and views. They read only a few messages of each session.
  readonly #idleness = this.statement<{ nowMs: number; id: string }, { isIdle: number; isOver: number }>`
    SELECT ${IS_IDLE} AS isIdle, ${IS_IDLE} AND ${IS_OVER} AS isOver FROM sessions s WHERE s.id = @id`;
  readonly #page = this.statement<{ nowMs: number; after: string; limit: number }, AwakeSession>`
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
  page(nowMs: number, after: string, limit: number): { due: string[]; done: string[]; last: string | undefined } {
    const page = this.#page.all({ nowMs, after, limit });
    const due = page.filter(({ isDue }) => isDue === 1).map(({ id }) => id);
    const done = page.filter(({ hasWork }) => hasWork === 0).map(({ id }) => id);
    return { due, done, last: page.length < limit ? undefined : page.at(-1)!.id };
  }

  /** Leaves these sessions out of `page` until a message comes or their frontier changes, unless there is work for them. */
  sleep(ids: readonly string[]): void {
    this.#sleep(JSON.stringify(ids));
  }
}
