import { and, eq, ne } from "drizzle-orm";
import type { SessionLevel } from "../core/handle.ts";
import { GENERATION_AT, GENERATION_NOW } from "./generations.ts";
import { isOfStep } from "./message-columns.ts";
import { Repository } from "./repository.ts";
import { undoneUnions, unions } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";

export const UNION = columns(unions);

/** One row of the log of a session's own forest. `id` is its log position. */
export type UnionRow = Omit<InsertOf<typeof UNION>, "sessionId" | "generation" | "level" | "kind"> & {
  level: "cluster" | "theme";
  kind: "start" | "join" | "settle" | "unite";
};

/** SQL: the messages of the step that the row `u` lets in, as JSON. */
const MEMBERS = `CASE WHEN u.kind IN ('start', 'join') THEN (
  SELECT json_group_array(m.id) FROM messages m
  WHERE ${isOfStep("u.node")}) END`;

/** SQL: the row `u` says when a step entered the forest in use. */
const IS_ENTRY = `u.kind IN ('start', 'join') AND u.level <> 'subject' AND u.generation = ${GENERATION_NOW}`;

const UNDONE = columns(undoneUnions);
export type UndoneRow = UnionRow & { undoneAt: number; members: string | null };

export interface EnteredStep {
  position: number;
  stepId: number;
  clusterRoot: number;
}

export type RootAt = { root: number; position: number };
type LogPosition = { generation: number; position: number };

/** SQL for the newest log position in the store. */
export const NEWEST_POSITION = `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'unions'), 0),
  coalesce((SELECT max(id) FROM unions), 0))`;

/** Rows of the log, and the trees that they make, in the generation in use or that of a given log position. */
export class UnionRepository extends Repository {
  // Moves of the frontier, resumes, renders and recalls run these.
  readonly #insert = this.statement<InsertOf<typeof UNION>>`${UNION.insert()}`;
  // The whole row, so that its checksum tells if the index names a row of another session.
  readonly #newest = this.statement<[sessionId: string], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE session_id = ? AND level <> 'subject' AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT 1`;
  // The rows are told apart by `stepsIn`, because a damaged kind would leave one out before its checksum is compared.
  readonly #ofCluster = this.statement<RootAt, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE root = @root AND id <= @position AND generation = ${GENERATION_AT}`;
  /** The steps that entered a cluster after one log position and up to another, in order. */
  readonly entriesOf = this.statement<RootAt & { from: number }, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE root = @root AND level = 'cluster' AND kind IN ('start', 'join') AND id > @from
    AND id <= @position AND generation = ${GENERATION_AT} ORDER BY id`.map(enteredStep).all;
  readonly #ofSession = this.statement<[sessionId: string, generation: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`;
  /** The roots in a session's log, even if rows of it are damaged. */
  readonly unchecked = this.statement<[sessionId: string, generation: number], Pick<UnionRow, "id" | "kind" | "root">>`
    SELECT id, kind, root FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`.all;
  /** The row at a log position. */
  readonly at = this.statement<[position: number], RowOf<typeof UNION>>`SELECT ${UNION} FROM unions WHERE id = ?`.get;
  /** Newest first. */
  readonly newestEntered = this.statement<[sessionId: string, limit: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE session_id = ? AND level = 'cluster' AND kind IN ('start', 'join') AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT ?`.map(enteredStep).all;
  readonly #uniteOf = this.statement<[root: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE node = ? AND kind = 'unite' AND level <> 'subject' AND generation = ${GENERATION_NOW}`;
  readonly #entered = this.statement<[stepId: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE node = ? AND kind IN ('start', 'join') AND level <> 'subject' AND generation = ${GENERATION_NOW}`.map(
    enteredStep,
  );
  readonly #started = this.statement<RootAt, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE node = @root AND kind = 'start' AND level <> 'subject' AND generation = ${GENERATION_AT}`.map(
    ({ id, sessionId }) => ({ position: id, sessionId }),
  );
  // Rewinds, and handles of positions before them.
  /** The rows of a session after a log position, in the generation in use. */
  readonly after = this.statement<[sessionId: string, position: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE session_id = ? AND id > ? AND level <> 'subject' AND generation = ${GENERATION_NOW} ORDER BY id`.all;
  /** The rows of a session's clusters and themes after one log position and up to another, in the generation in use. */
  readonly between = this.statement<
    { sessionId: string; from: number; position: number; limit: number },
    RowOf<typeof UNION>
  >`SELECT ${UNION} FROM unions
    WHERE session_id = @sessionId AND id > @from AND id <= @position AND level <> 'subject'
      AND generation = ${GENERATION_NOW} ORDER BY id LIMIT @limit`.all;
  /** The log position before the first step from a seq on entered the forest; undefined if none has. */
  readonly positionBefore = this.statement<{ sessionId: string; seq: number }, number>`
    SELECT id - 1 FROM unions
    WHERE session_id = @sessionId AND kind IN ('start', 'join') AND level <> 'subject' AND generation = ${GENERATION_NOW}
      AND id > coalesce((
        SELECT max(u.id) FROM (
          SELECT step_id FROM messages WHERE session_id = @sessionId AND seq < @seq AND pinned = 0
          ORDER BY seq DESC LIMIT 100) m
        JOIN unions u ON u.node = m.step_id AND ${IS_ENTRY}), 0)
    ORDER BY id LIMIT 1`.pluck().get;
  /** Steps from a seq on that have a row at a log position or before. Since a step was forgotten, they begin its cluster. */
  readonly heirs = this.statement<{ sessionId: string; seq: number; position: number }, number>`
    SELECT DISTINCT u.node FROM messages m JOIN unions u ON u.node = m.step_id AND ${IS_ENTRY} AND u.id <= @position
    WHERE m.session_id = @sessionId AND m.seq >= @seq AND m.pinned = 0`.pluck().all;
  /** The unite that absorbed a root, without the checks of `uniteOf`. */
  readonly absorbedAt = this.statement<[root: number], { position: number; root: number }>`
    SELECT id AS position, root FROM unions
    WHERE node = ? AND kind = 'unite' AND level <> 'subject' AND generation = ${GENERATION_NOW}`.get;
  /** In each older generation, the log position before the step of the newest message up to a seq entered the forest. */
  readonly #olderPositions = this.statement<{ sessionId: string; seqLast: number }, LogPosition>`
    SELECT u.generation, u.id - 1 AS position FROM unions u
    WHERE u.node = (
        SELECT step_id FROM messages WHERE session_id = @sessionId AND seq <= @seqLast AND pinned = 0
        ORDER BY seq DESC LIMIT 1)
      AND u.kind IN ('start', 'join') AND u.level <> 'subject' AND u.generation < ${GENERATION_NOW}`;
  readonly #copyUndone = this.statement<LogPosition & { sessionId: string; undoneAt: number }>`
    INSERT INTO undone_unions (id, session_id, generation, level, kind, node, root, score, undone_at, members)
    SELECT id, session_id, generation, level, kind, node, root, score, @undoneAt, ${MEMBERS} FROM unions u
    WHERE session_id = @sessionId AND id > @position AND level <> 'subject' AND generation = @generation`;
  readonly #copyOneUndone = this.statement<{ id: number; undoneAt: number }>`
    INSERT INTO undone_unions (id, session_id, generation, level, kind, node, root, score, undone_at, members)
    SELECT id, session_id, generation, level, kind, node, root, score, @undoneAt, ${MEMBERS} FROM unions u WHERE id = @id`;
  readonly #deleteAfter = this.statement<LogPosition & { sessionId: string }>`
    DELETE FROM unions
    WHERE session_id = @sessionId AND id > @position AND level <> 'subject' AND generation = @generation`;
  readonly #undoneOf = this.statement<[sessionId: string, generation: number], UndoneRow>`
    SELECT ${columns(undoneUnions, "id", "level", "kind", "node", "root", "score", "undoneAt", "members")} FROM undone_unions
    WHERE session_id = ? AND generation = ? ORDER BY id`;
  readonly #deleteUndone = this.statement<[sessionId: string, generation: number, undoneAt: number]>`
    DELETE FROM undone_unions WHERE session_id = ? AND generation = ? AND undone_at = ?`;
  readonly #insertUndone = this.statement<InsertOf<typeof UNDONE>>`${UNDONE.insert()}`;
  readonly #undoneStart = this.statement<RootAt, { position: number; sessionId: string }>`
    SELECT id AS position, ${columns(undoneUnions, "sessionId")} FROM undone_unions
    WHERE root = @root AND kind = 'start' AND id <= @position AND undone_at > @position
      AND generation = ${GENERATION_AT}`;
  readonly #isRewound = this.statement<RootAt, number>`
    SELECT EXISTS (
      SELECT 1 FROM undone_unions WHERE undone_at > @position AND session_id IN (
        SELECT session_id FROM messages WHERE id = @root
        UNION ALL
        SELECT parent_session_id FROM sessions
        WHERE id = (SELECT session_id FROM messages WHERE id = @root) AND superseded_at_ms IS NOT NULL))`.pluck().one;
  readonly #undoneStepsOfCluster = this.statement<RootAt, number>`
    SELECT node FROM undone_unions WHERE root = @root AND level = 'cluster' AND kind IN ('start', 'join')
    AND id <= @position AND undone_at > @position AND generation = ${GENERATION_AT}`.pluck();
  readonly #undoneMembers = this.statement<RootAt, number>`
    SELECT m.value FROM undone_unions u JOIN json_each(u.members) m
    WHERE u.root = @root AND u.level = 'cluster' AND u.kind IN ('start', 'join')
    AND u.id <= @position AND u.undone_at > @position AND u.generation = ${GENERATION_AT}`.pluck();
  readonly #rewoundTree = this.statement<RootAt, number>`
    WITH RECURSIVE tree(root) AS (
      SELECT @root
      UNION
      SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
      UNION
      SELECT u.node FROM tree JOIN undone_unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.undone_at > @position
        AND u.generation = ${GENERATION_AT}
    )
    SELECT root FROM tree`.pluck();
  // Lookups by the primary keys of other tables, which tell if the index of the log lacks a row.
  readonly #isTheme = this.statement<[root: number], number>`
    SELECT EXISTS (SELECT 1 FROM themes WHERE root_id = ?)`.pluck().one;
  readonly #newestOfThemes = this.statement<[sessionId: string], number>`
    SELECT coalesce(max(log_position), 0) FROM themes WHERE session_id = ?`.pluck().one;
  readonly #hasGraduated = this.statement<[stepId: number], number>`
    SELECT EXISTS (
      SELECT 1 FROM messages m JOIN sessions s ON s.id = m.session_id
      WHERE m.id = ? AND m.pinned = 0 AND m.seq < s.graduated_seq AND s.superseded_at_ms IS NULL)`.pluck().one;
  // A table of SQLite's own.
  readonly newestPosition = this.statement<[], number>`${NEWEST_POSITION}`.pluck().one;
  // Recursive. A theme at a log position is found from its root downwards, by the unites up to that position.
  readonly #ofTheme = this.statement<RootAt, RowOf<typeof UNION>>`
    WITH RECURSIVE tree(root) AS (
      SELECT @root
      UNION
      SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
    )
    SELECT ${UNION.of("u")} FROM tree JOIN unions u ON u.root = tree.root
    WHERE u.id <= @position AND u.generation = ${GENERATION_AT}`;

  /**
   * When a step entered the forest, and its cluster; undefined if it has not entered.
   *
   * @throws {SyntaxError} if the frontier has passed the step, so that the index lacks its row.
   */
  entered(stepId: number): EnteredStep | undefined {
    const entered = this.#entered.get(stepId);
    if (entered?.stepId === stepId || (entered === undefined && this.#hasGraduated(stepId) === 0)) return entered;
    throw new SyntaxError(`the log does not say when step ${stepId} entered the forest`);
  }

  /**
   * The unite that absorbed this root; undefined while it is the root of a theme.
   *
   * @throws {SyntaxError} if it is not the root of a theme either.
   */
  uniteOf(root: number): RootAt | undefined {
    const unite = this.#uniteOf.get(root);
    if (unite?.node === root) return { root: unite.root, position: unite.id };
    if (unite === undefined && this.#isTheme(root) === 1) return undefined;
    throw new SyntaxError(`${root} is the root of no theme, and the log does not say which theme absorbed it`);
  }

  /** 0 before the first row. @throws {SyntaxError} if a theme changed after the newest row that the index names. */
  lastPosition(sessionId: string): number {
    const newest = this.#newest.get(sessionId);
    const position = newest?.id ?? 0;
    const changedAt = this.#newestOfThemes(sessionId);
    if (position >= changedAt && (newest?.sessionId ?? sessionId) === sessionId) return position;
    throw new SyntaxError(
      `the index of the log lacks rows of session ${sessionId}; its themes changed at ${changedAt}`,
    );
  }

  add(sessionId: string, generation: number, { id, level, kind, node, root, score }: UnionRow): void {
    this.#insert.run({ id, sessionId, generation, level, kind, node, root, score });
  }

  /** Takes back some rows of a session. */
  undo(rows: readonly UnionRow[], undoneAt: number): void {
    for (const { id } of rows) this.#copyOneUndone.run({ id, undoneAt });
  }

  replace(sessionId: string, generation: number, rows: readonly UnionRow[]): void {
    this.orm.delete(unions).where(isLog(sessionId, generation)).run();
    for (const row of rows) this.add(sessionId, generation, row);
  }

  ofSession(sessionId: string, generation: number): UnionRow[] {
    return this.#ofSession.all(sessionId, generation) as UnionRow[];
  }

  /**
   * When a root started, in the generation of `position`. Every theme's root was a cluster's root first. If the log was rewound
   * since, the start that held at `position` counts.
   */
  started(at: RootAt): { position: number; sessionId: string } | undefined {
    return this.#undoneStart.get(at) ?? this.#started.get(at);
  }

  /** Like `stepsOf`, for a position before a rewind. Returns the messages that steps had then, for those taken back since. */
  rewoundMembers(level: SessionLevel, root: number, position: number): { steps: number[]; ids: number[] } {
    const roots = this.#rootsAt(level, root, position);
    const ids = roots.flatMap((root) => this.#undoneMembers.all({ root, position }));
    return { steps: this.#heldSteps(roots, position), ids };
  }

  #rootsAt(level: SessionLevel, root: number, position: number): number[] {
    return level === "theme" ? this.#rewoundTree.all({ root, position }) : [root];
  }

  #heldSteps(roots: readonly number[], position: number): number[] {
    return roots.flatMap((root) => stepsIn(this.#ofCluster.all({ root, position })));
  }

  /** True if rows of the root's session that held at a log position have been undone. */
  isRewound(at: RootAt): boolean {
    return this.#isRewound(at) === 1;
  }

  /** Takes back the rows of a session after a log position of a generation. */
  undoAfter(sessionId: string, { generation, position }: LogPosition, undoneAt: number): void {
    this.#copyUndone.run({ sessionId, generation, position, undoneAt });
    this.#deleteAfter.run({ sessionId, generation, position });
  }

  /**
   * Takes back the rows of older generations from the step of the newest message up to a seq on: the step may be divided, or get
   * other results. Rows that are taken back say which messages their steps had.
   */
  undoOlder(sessionId: string, seqLast: number, undoneAt: number): void {
    for (const from of this.#olderPositions.all({ sessionId, seqLast })) this.undoAfter(sessionId, from, undoneAt);
  }

  /** The cluster that held exactly these steps at some log position, and that position; undefined if none did. */
  clusterOf(steps: readonly number[]): RootAt | undefined {
    const entries = steps.map((step) => this.entered(step));
    const root = entries[0]?.clusterRoot;
    if (root === undefined || !entries.every((entry) => entry?.clusterRoot === root)) return undefined;
    const position = Math.max(...entries.map((entry) => entry!.position));
    return this.entriesOf({ root, from: 0, position }).length === steps.length ? { root, position } : undefined;
  }

  undoneOf(sessionId: string, generation: number): UndoneRow[] {
    return this.#undoneOf.all(sessionId, generation);
  }

  /** Replaces the rows of a session that were taken back at one position. */
  replaceUndone(sessionId: string, generation: number, undoneAt: number, rows: readonly UndoneRow[]): void {
    this.#deleteUndone.run(sessionId, generation, undoneAt);
    for (const { id, level, kind, node, root, score, members } of rows) {
      this.#insertUndone.run({ id, sessionId, generation, level, kind, node, root, score, undoneAt, members });
    }
  }

  /** Returns the steps that a root of this level held at a log position, in no order. */
  stepsOf(level: SessionLevel, root: number, position: number): number[] {
    if (this.isRewound({ root, position })) {
      const roots = this.#rootsAt(level, root, position);
      const undone = roots.flatMap((root) => this.#undoneStepsOfCluster.all({ root, position }));
      return [...this.#heldSteps(roots, position), ...undone];
    }
    return stepsIn((level === "theme" ? this.#ofTheme : this.#ofCluster).all({ root, position }));
  }
}

/** Returns the steps that entered clusters by some rows of the log. */
function stepsIn(rows: readonly RowOf<typeof UNION>[]): number[] {
  const entries = rows.filter(({ level, kind }) => level === "cluster" && (kind === "start" || kind === "join"));
  return entries.map(({ node }) => node);
}

function enteredStep({ id, node, root }: RowOf<typeof UNION>): EnteredStep {
  return { position: id, stepId: node, clusterRoot: root };
}

function isLog(sessionId: string, generation: number) {
  return and(eq(unions.sessionId, sessionId), eq(unions.generation, generation), ne(unions.level, "subject"));
}
