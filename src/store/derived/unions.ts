import { parseStored } from "../../core/damage.ts";
import type { SessionLevel } from "../../core/handle.ts";
import { GENERATION_AT, GENERATION_NOW } from "../facts/generations.ts";
import { holdersOf, isOnPathOf, type Path, PathReader, type Piece, rowsIn } from "../facts/paths.ts";
import { isOfStep } from "../sql/message-columns.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

export const UNION = columns(TABLES.unions);

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

/** SQL: the row `u` is of the log of the session `@sessionId`. */
const IS_OF_LOG = isOnPathOf("@sessionId", "u");

/** SQL: selects the rows by which steps entered a cluster after one log position and up to another. */
const ENTRIES = `SELECT ${UNION.of("u")} FROM unions u
    WHERE u.root = @root AND u.level = 'cluster' AND u.kind IN ('start', 'join') AND u.id > @from
    AND u.id <= @position AND u.generation = ${GENERATION_AT} AND ${IS_OF_LOG}`;

export const UNDONE = columns(TABLES.undoneUnions);
export type UndoneRow = UnionRow & { undoneAt: number; members: string | null };
type UndoingRow = RowOf<typeof UNION> & Pick<UndoneRow, "members">;

export interface EnteredStep {
  position: number;
  stepId: number;
  clusterRoot: number;
}

export type RootAt = { root: number; position: number };
/** A root as the log of a session has it. A fork shares the roots of its past, and goes on with them in its own way. */
type RootIn = RootAt & { sessionId: string };
type LogPosition = { generation: number; position: number };

/** SQL for the newest log position in the store. */
export const NEWEST_POSITION = `SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'unions'), 0),
  coalesce((SELECT max(id) FROM unions), 0))`;

/** Rows of the log, and the trees that they make, in the generation in use or that of a given log position. */
export class UnionRepository extends PathReader {
  // Moves of the frontier, resumes, renders and recalls run these.
  readonly #insert = this.statement<InsertOf<typeof UNION>>`${UNION.insert()}`;
  readonly #newest = this.statement<[sessionId: string, position: number], number>`
    SELECT id FROM unions
    WHERE session_id = ? AND id <= ? AND level <> 'subject' AND generation = ${GENERATION_NOW} ORDER BY id DESC LIMIT 1`.pluck();
  readonly #ofCluster = this.statement<RootIn & { from: number }, RowOf<typeof UNION>>`
    SELECT ${UNION.of("u")} FROM unions u
    WHERE u.root = @root AND u.id > @from AND u.id <= @position AND u.generation = ${GENERATION_AT} AND ${IS_OF_LOG}`;
  readonly #entriesOf = this.statement<RootIn & { from: number; limit: number }, RowOf<typeof UNION>>`
    ${ENTRIES} ORDER BY u.id LIMIT @limit`.map(enteredStep).all;
  readonly #lastEntriesOf = this.statement<RootIn & { from: number; limit: number }, RowOf<typeof UNION>>`
    ${ENTRIES} ORDER BY u.id DESC LIMIT @limit`.map(enteredStep).all;
  readonly #ofSession = this.statement<[sessionId: string, position: number, generation: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE session_id = ? AND id <= ? AND generation = ? AND level <> 'subject' ORDER BY id`.map(
    logRow,
  );
  /** The roots in a session's log, even if rows of it are damaged. */
  readonly unchecked = this.statement<[sessionId: string, generation: number], Pick<UnionRow, "id" | "kind" | "root">>`
    SELECT id, kind, root FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`.all;
  /** The row at a log position. */
  readonly at = this.statement<[position: number], RowOf<typeof UNION>>`SELECT ${UNION} FROM unions WHERE id = ?`.get;
  readonly #newestEntered = this.statement<
    [sessionId: string, position: number, limit: number],
    RowOf<typeof UNION>
  >`SELECT ${UNION} FROM unions
    WHERE session_id = ? AND id <= ? AND level = 'cluster' AND kind IN ('start', 'join')
      AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT ?`;
  /** Returns the log row that absorbed a root; undefined while it is the root of a theme. */
  readonly unite = this.statement<{ sessionId: string; root: number }, RowOf<typeof UNION>>`
    SELECT ${UNION.of("u")} FROM unions u
    WHERE u.node = @root AND u.kind = 'unite' AND u.level <> 'subject' AND u.generation = ${GENERATION_NOW}
      AND ${IS_OF_LOG}`.map(({ id, root }) => ({ position: id, root })).get;
  /** When a step entered the forest, and its cluster; undefined if it has not entered. */
  readonly entered = this.statement<{ sessionId: string; stepId: number }, RowOf<typeof UNION>>`
    SELECT ${UNION.of("u")} FROM unions u WHERE u.node = @stepId AND ${IS_ENTRY} AND ${IS_OF_LOG}`.map(enteredStep).get;
  /** In the log of the session that holds the root's message, and of forks that began the same cluster. */
  readonly #started = this.statement<RootAt, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE node = @root AND kind = 'start' AND level <> 'subject' AND generation = ${GENERATION_AT}
    ORDER BY session_id <> (SELECT session_id FROM messages WHERE id = @root), id`.map(({ id, sessionId }) => ({
    position: id,
    sessionId,
  }));
  // Rewinds, and handles of positions before them.
  /** The rows of a session after a log position, in the generation in use. */
  readonly after = this.statement<[sessionId: string, position: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions
    WHERE session_id = ? AND id > ? AND level <> 'subject' AND generation = ${GENERATION_NOW} ORDER BY id`.all;
  readonly #between = this.statement<
    { sessionId: string; from: number; position: number; limit: number },
    RowOf<typeof UNION>
  >`SELECT ${UNION} FROM unions
    WHERE session_id = @sessionId AND id > @from AND id <= @position AND level <> 'subject'
      AND generation = ${GENERATION_NOW} ORDER BY id LIMIT @limit`;
  readonly #entryUpTo = this.statement<{ sessionId: string; holderId: string; seq: number }, number | null>`
    SELECT max(u.id) FROM (
      SELECT step_id FROM messages WHERE session_id = @holderId AND seq <= @seq AND pinned = 0
      ORDER BY seq DESC LIMIT 100) m
    JOIN unions u ON u.node = m.step_id AND ${IS_ENTRY} AND ${IS_OF_LOG}`.pluck().one;
  readonly #entryAfter = this.statement<[sessionId: string, position: number], number>`
    SELECT id FROM unions u WHERE session_id = ? AND ${IS_ENTRY} AND id > ? ORDER BY id LIMIT 1`.pluck().get;
  /** Steps from a seq on that have a row at a log position or before. Since a step was forgotten, they begin its cluster. */
  readonly heirs = this.statement<{ sessionId: string; seq: number; position: number }, number>`
    SELECT DISTINCT u.node FROM messages m
    JOIN unions u ON u.node = m.step_id AND ${IS_ENTRY} AND u.id <= @position AND ${IS_OF_LOG}
    WHERE m.session_id = @sessionId AND m.seq >= @seq AND m.pinned = 0`.pluck().all;
  /** In each older generation, the log position before the step of the newest message up to a seq entered the forest. */
  readonly #olderPositions = this.statement<{ sessionId: string; seqLast: number }, LogPosition>`
    SELECT u.generation, u.id - 1 AS position FROM unions u
    WHERE u.node = (
        SELECT step_id FROM messages WHERE session_id = @sessionId AND seq <= @seqLast AND pinned = 0
        ORDER BY seq DESC LIMIT 1)
      AND u.kind IN ('start', 'join') AND u.level <> 'subject' AND u.generation < ${GENERATION_NOW}
      AND u.session_id = @sessionId`;
  readonly #undoing = this.statement<LogPosition & { sessionId: string }, UndoingRow>`
    SELECT ${UNION.of("u")}, ${MEMBERS} AS members FROM unions u
    WHERE session_id = @sessionId AND id > @position AND level <> 'subject' AND generation = @generation`;
  readonly #undoingOne = this.statement<[id: number], UndoingRow>`
    SELECT ${UNION.of("u")}, ${MEMBERS} AS members FROM unions u WHERE id = ?`;
  readonly #deleteAfter = this.statement<LogPosition & { sessionId: string }>`
    DELETE FROM unions
    WHERE session_id = @sessionId AND id > @position AND level <> 'subject' AND generation = @generation`;
  readonly #deleteLog = this.statement<[sessionId: string, generation: number]>`
    DELETE FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject'`.run;
  readonly #undoneOf = this.statement<[sessionId: string], UndoneRow & { generation: number }>`
    SELECT ${UNDONE} FROM undone_unions WHERE session_id = ? ORDER BY id`;
  readonly #undoneOfRoot = this.statement<RootAt & { from: number }, RowOf<typeof UNDONE>>`
    SELECT ${UNDONE} FROM undone_unions WHERE root = @root AND id > @from AND id <= @position ORDER BY id`;
  /** True if rows of a session's log were taken back after one log position and up to another. */
  readonly isUndoneBetween = this.statement<RootIn & { from: number }, number>`
    SELECT EXISTS (SELECT 1 FROM undone_unions WHERE undone_at > @from AND undone_at <= @position
      AND session_id IN ${holdersOf("@sessionId")})`.pluck().is;
  readonly #undoneAt = this.statement<[position: number], RowOf<typeof UNDONE>>`
    SELECT ${UNDONE} FROM undone_unions WHERE id = ? LIMIT 1`;
  /** The generation in use at a log position. */
  readonly generationAt = this.statement<{ position: number }, number>`SELECT ${GENERATION_AT}`.pluck().get;
  readonly #deleteUndone = this.statement<[sessionId: string, generation: number, undoneAt: number]>`
    DELETE FROM undone_unions WHERE session_id = ? AND generation = ? AND undone_at = ?`;
  readonly #insertUndone = this.statement<InsertOf<typeof UNDONE>>`${UNDONE.insert()}`;
  /** True if rows of a session's log that held at a log position have been undone. */
  readonly isRewound = this.statement<{ sessionId: string; position: number }, number>`
    SELECT EXISTS (
      SELECT 1 FROM undone_unions WHERE id <= @position AND undone_at > @position
        AND session_id IN ${holdersOf("@sessionId")})`.pluck().is;
  // A table of SQLite's own.
  readonly newestPosition = this.statement<[], number>`${NEWEST_POSITION}`.pluck().one;
  /** Gives the log position of a rewind to no row, so that the position before the next row is after the rewind. */
  readonly reserve = this.statement<[position: number]>`
    UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'unions'`.run;
  // Recursive. A theme at a log position is found from its root downwards, by the unites up to that position.
  readonly #ofTheme = this.statement<RootIn, RowOf<typeof UNION>>`
    WITH RECURSIVE tree(root) AS (
      SELECT @root
      UNION
      SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
        AND ${IS_OF_LOG}
    )
    SELECT ${UNION.of("u")} FROM tree JOIN unions u ON u.root = tree.root
    WHERE u.id <= @position AND u.generation = ${GENERATION_AT} AND ${IS_OF_LOG}`;

  /** The steps that entered a cluster after one log position and up to another, in order. @param limit  Of the first ones. */
  entriesOf(range: RootIn & { from: number }, limit = -1): EnteredStep[] {
    return this.#entriesOf({ ...range, limit });
  }

  /** The newest of `entriesOf`, in order. */
  lastEntriesOf(range: RootIn & { from: number }, limit: number): EnteredStep[] {
    return this.#lastEntriesOf({ ...range, limit }).reverse();
  }

  /** 0 before the first row. */
  lastPosition(sessionId: string): number {
    return this.paths.newest(sessionId, (piece) => this.#newest.get(piece.sessionId, piece.logPosition)) ?? 0;
  }

  /** The steps that entered the forest last, newest first. */
  newestEntered(sessionId: string, limit: number): EnteredStep[] {
    const path = this.paths.of(sessionId).toReversed();
    const rows = rowsIn(path, limit, ({ sessionId, logPosition }, left) => {
      return this.#newestEntered.all(sessionId, logPosition, left);
    });
    return rows.map(enteredStep);
  }

  /** The rows of a session's clusters and themes after one log position and up to another, in the generation in use. */
  between(range: { sessionId: string; from: number; position: number; limit: number }): UnionRow[] {
    return rowsIn(this.paths.of(range.sessionId), range.limit, ({ sessionId, logPosition }, limit) => {
      const position = Math.min(range.position, logPosition);
      return this.#between.all({ sessionId, from: range.from, position, limit }) as UnionRow[];
    });
  }

  add(sessionId: string, generation: number, { id, level, kind, node, root, score }: UnionRow): void {
    this.#insert.run({ id, sessionId, generation, level, kind, node, root, score });
  }

  undo(rows: readonly UnionRow[], undoneAt: number): void {
    for (const { id } of rows) this.#noteUndone(this.#undoingOne.all(id), undoneAt);
  }

  #noteUndone(rows: readonly UndoingRow[], undoneAt: number): void {
    for (const row of rows) this.#insertUndone.run({ ...row, undoneAt } as InsertOf<typeof UNDONE>);
  }

  /** Replaces the log of a session. Rows that it shares stay as they are. */
  replace(sessionId: string, generation: number, rows: readonly UnionRow[]): void {
    const sharedTo = this.paths.sharedTo(sessionId);
    this.#deleteLog(sessionId, generation);
    for (const row of rows) if (row.id > sharedTo) this.add(sessionId, generation, row);
  }

  /** The whole log of a session, with the rows that it shares. */
  ofSession(sessionId: string, generation: number): UnionRow[] {
    return this.paths.of(sessionId).flatMap((piece) => {
      return this.#ofSession.all(piece.sessionId, piece.logPosition, generation);
    });
  }

  /**
   * When a root started, in the generation of `position`, and the session in whose log a handle with this position names it. Every
   * theme's root was a cluster's root first. If the log was rewound since, the start that held at `position` counts.
   */
  started(at: RootAt): { position: number; sessionId: string } | undefined {
    const undone = this.#undoneHeld(at).filter(({ kind }) => kind === "start");
    const starts = [...undone.map(({ id, sessionId }) => ({ position: id, sessionId })), ...this.#started.all(at)];
    const holderId = (this.at(at.position) ?? this.#undoneAt.get(at.position))?.sessionId;
    const own = starts.find(({ sessionId }) => sessionId === holderId);
    if (own !== undefined || holderId === undefined) return own ?? starts[0];
    const path = this.paths.of(holderId);
    const shared = starts.find((start) => {
      return path.some(({ sessionId, logPosition }) => sessionId === start.sessionId && start.position <= logPosition);
    });
    return shared === undefined ? starts[0] : { position: shared.position, sessionId: holderId };
  }

  /** Like `stepsOf`, for a position before a rewind. Returns the messages that steps had then, for those taken back since. */
  rewoundMembers(level: SessionLevel, at: RootIn): { steps: number[]; ids: number[] } {
    const { held, undone } = this.#rewoundRows(level, at);
    // After `forget`, a unite may name the messages of its node, too.
    const ids = undone.filter(isEntry).flatMap(({ members }) => parseStored(members ?? "[]") as number[]);
    return { steps: stepsIn(held), ids };
  }

  /** The rows of a root at a log position: those that still hold, and those taken back since. */
  #rewoundRows(
    level: SessionLevel,
    at: RootIn,
    from = 0,
  ): { held: RowOf<typeof UNION>[]; undone: RowOf<typeof UNDONE>[] } {
    const path = this.paths.of(at.sessionId);
    const held: RowOf<typeof UNION>[] = [];
    const undone: RowOf<typeof UNDONE>[] = [];
    const roots = new Set([at.root]);
    for (const root of roots) {
      const heldOfRoot = this.#ofCluster.all({ ...at, root, from });
      const undoneOfRoot = this.#undoneHeld({ ...at, root }, from).filter((row) => isOfPath(path, row));
      for (const row of heldOfRoot) held.push(row);
      for (const row of undoneOfRoot) undone.push(row);
      if (level === "cluster") break;
      for (const row of [...heldOfRoot, ...undoneOfRoot]) {
        if (row.level === "theme" && row.kind === "unite") roots.add(row.node);
      }
    }
    return { held, undone };
  }

  /** The rows of a root that held at a log position and were taken back since. */
  #undoneHeld({ root, position }: RootAt, from = 0): RowOf<typeof UNDONE>[] {
    const rows = this.#undoneOfRoot.all({ root, position, from });
    if (rows.length === 0) return rows;
    const generation = this.generationAt({ position });
    return rows.filter((row) => row.undoneAt > position && row.generation === generation);
  }

  /** Takes back the rows of a session after a log position of a generation. */
  undoAfter(sessionId: string, { generation, position }: LogPosition, undoneAt: number): void {
    this.#noteUndone(this.#undoing.all({ sessionId, generation, position }), undoneAt);
    this.#deleteAfter.run({ sessionId, generation, position });
  }

  /**
   * Takes back the rows of older generations from the step of the newest message up to a seq on: the step may be divided, or get
   * other results. Rows that are taken back say which messages their steps had.
   */
  undoOlder(sessionId: string, seqLast: number, undoneAt: number): void {
    for (const from of this.#olderPositions.all({ sessionId, seqLast })) this.undoAfter(sessionId, from, undoneAt);
  }

  /**
   * The cluster that held exactly these steps at some log position, and that position; undefined if none did.
   *
   * @param before  A cluster and a log position. Then the steps are those that entered it later.
   */
  clusterOf(sessionId: string, steps: readonly number[], before?: RootAt): RootAt | undefined {
    const entries = steps.map((step) => this.entered({ sessionId, stepId: step }));
    const root = before?.root ?? entries[0]?.clusterRoot;
    if (root === undefined || !entries.every((entry) => entry?.clusterRoot === root)) return undefined;
    const from = before?.position ?? 0;
    const position = entries.reduce((newest, entry) => Math.max(newest, entry!.position), from);
    const held = this.entriesOf({ sessionId, root, from, position }, steps.length + 1);
    return held.length === steps.length ? { root, position } : undefined;
  }

  /** The log position before the first step from a seq on entered the forest; undefined if none has. */
  positionBefore(sessionId: string, seq: number): number | undefined {
    const entryIn = ({ sessionId: holderId, seqLast }: Piece): number | undefined =>
      this.#entryUpTo({ sessionId, holderId, seq: seqLast }) ?? undefined;
    const next = this.#entryAfter(sessionId, this.paths.newest(sessionId, entryIn, seq - 1) ?? 0);
    return next === undefined ? undefined : next - 1;
  }

  undoneOf(sessionId: string, generation: number): UndoneRow[] {
    return this.#undoneOf.all(sessionId).filter((row) => row.generation === generation);
  }

  /** Replaces the rows of a session that were taken back at one position. */
  replaceUndone(sessionId: string, generation: number, undoneAt: number, rows: readonly UndoneRow[]): void {
    this.#deleteUndone.run(sessionId, generation, undoneAt);
    for (const row of rows) this.addUndone(sessionId, generation, { ...row, undoneAt });
  }

  addUndone(sessionId: string, generation: number, row: UndoneRow): void {
    const { id, level, kind, node, root, score, undoneAt, members } = row;
    this.#insertUndone.run({ id, sessionId, generation, level, kind, node, root, score, undoneAt, members });
  }

  /**
   * Returns the steps that a root of this level held at a log position of a session's log, in no order.
   *
   * @param from  Of a cluster, only those that entered after this log position.
   */
  stepsOf(level: SessionLevel, at: RootIn, from = 0): number[] {
    if (this.isRewound(at)) {
      const { held, undone } = this.#rewoundRows(level, at, from);
      return stepsIn([...held, ...undone]);
    }
    return stepsIn(level === "theme" ? this.#ofTheme.all(at) : this.#ofCluster.all({ ...at, from }));
  }
}

/** Returns the steps that entered clusters by some rows of the log. */
function stepsIn(rows: readonly Pick<RowOf<typeof UNION>, "level" | "kind" | "node">[]): number[] {
  return rows.filter(isEntry).map(({ node }) => node);
}

export function isEntry({ level, kind }: Pick<RowOf<typeof UNION>, "level" | "kind">): boolean {
  return level === "cluster" && (kind === "start" || kind === "join");
}

/** A log may be long, and the driver makes new strings for each row. */
const LEVELS = { cluster: "cluster", theme: "theme" } as const;
const KINDS = { start: "start", join: "join", settle: "settle", unite: "unite" } as const;

function logRow({ id, level, kind, node, root, score }: RowOf<typeof UNION>): UnionRow {
  return { id, level: LEVELS[level as UnionRow["level"]], kind: KINDS[kind as UnionRow["kind"]], node, root, score };
}

function isOfPath(path: Path, { sessionId, id }: Pick<RowOf<typeof UNION>, "sessionId" | "id">): boolean {
  return path.some((piece) => piece.sessionId === sessionId && id <= piece.logPosition);
}

function enteredStep({ id, node, root }: RowOf<typeof UNION>): EnteredStep {
  return { position: id, stepId: node, clusterRoot: root };
}
