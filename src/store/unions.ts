import { and, eq, ne } from "drizzle-orm";
import type { SessionLevel } from "../core/handle.ts";
import { GENERATION_AT, GENERATION_NOW } from "./generations.ts";
import { Repository } from "./repository.ts";
import { unions } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";

export const UNION = columns(unions);

/** One row of the log of a session's own forest. `id` is its log position. */
export type UnionRow = Omit<InsertOf<typeof UNION>, "sessionId" | "generation" | "level" | "kind"> & {
  level: "cluster" | "theme";
  kind: "start" | "join" | "settle" | "unite";
};

export interface EnteredStep {
  position: number;
  stepId: number;
  clusterRoot: number;
}

export type RootAt = { root: number; position: number };

/** SQL for the newest log position in the store. */
export const NEWEST_POSITION = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'unions'), 0)";

const ENTERED = "SELECT id AS position, node AS stepId, root AS clusterRoot FROM unions";

/** Rows of the log, and the trees that they make, in the generation in use or that of a given log position. */
export class UnionRepository extends Repository {
  // Moves of the frontier, resumes, renders and recalls run these.
  readonly #insert = this.statement<InsertOf<typeof UNION>>`${UNION.insert()}`;
  // The whole row, so that its checksum tells if the index names a row of another session.
  readonly #newest = this.statement<[sessionId: string], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE session_id = ? AND level <> 'subject' AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT 1`;
  readonly #stepsOfCluster = this.statement<RootAt, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE root = @root AND level = 'cluster' AND kind IN ('start', 'join') AND id <= @position
    AND generation = ${GENERATION_AT}`;
  readonly #ofSession = this.statement<[sessionId: string, generation: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`;
  /** The roots in a session's log, even if rows of it are damaged. */
  readonly unchecked = this.statement<[sessionId: string, generation: number], Pick<UnionRow, "id" | "kind" | "root">>`
    SELECT id, kind, root FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`.all;
  /** Newest first. */
  readonly newestEntered = this.statement<[sessionId: string, limit: number], EnteredStep>`
    ${ENTERED} WHERE session_id = ? AND level = 'cluster' AND kind IN ('start', 'join') AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT ?`.all;
  /** The unite that absorbed this root; undefined while it is the root of a theme. */
  readonly uniteOf = this.statement<[root: number], { position: number; root: number }>`
    SELECT id AS position, root FROM unions
    WHERE node = ? AND kind = 'unite' AND level <> 'subject' AND generation = ${GENERATION_NOW}`.get;
  /** When a step entered the forest, and its cluster; undefined if it has not entered. */
  readonly entered = this.statement<[stepId: number], EnteredStep>`
    ${ENTERED} WHERE node = ? AND kind IN ('start', 'join') AND level <> 'subject' AND generation = ${GENERATION_NOW}`
    .get;
  /** When a root started, in the generation of `position`. Every theme's root was a cluster's root first. */
  readonly started = this.statement<RootAt, { position: number; sessionId: string }>`
    SELECT id AS position, ${columns(unions, "sessionId")} FROM unions
    WHERE node = @root AND kind = 'start' AND level <> 'subject' AND generation = ${GENERATION_AT}`.get;
  // A table of SQLite's own.
  readonly newestPosition = this.statement<[], number>`${NEWEST_POSITION}`.pluck().one;
  // Recursive. A theme at a log position is found from its root downwards, by the unites up to that position.
  readonly #stepsOfTheme = this.statement<RootAt, RowOf<typeof UNION>>`
    WITH RECURSIVE tree(root) AS (
      SELECT @root
      UNION
      SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
    )
    SELECT ${UNION.of("u")} FROM tree JOIN unions u ON u.root = tree.root
    WHERE u.level = 'cluster' AND u.kind IN ('start', 'join') AND u.id <= @position AND u.generation = ${GENERATION_AT}`;

  /** 0 before the first row. */
  lastPosition(sessionId: string): number {
    return this.#newest.get(sessionId)?.id ?? 0;
  }

  add(sessionId: string, generation: number, { id, level, kind, node, root, score }: UnionRow): void {
    this.#insert.run({ id, sessionId, generation, level, kind, node, root, score });
  }

  replace(sessionId: string, generation: number, rows: readonly UnionRow[]): void {
    this.orm.delete(unions).where(isLog(sessionId, generation)).run();
    for (const row of rows) this.add(sessionId, generation, row);
  }

  ofSession(sessionId: string, generation: number): UnionRow[] {
    return this.#ofSession.all(sessionId, generation) as UnionRow[];
  }

  /** Returns the steps that a root of this level held at a log position, in no order. */
  stepsOf(level: SessionLevel, root: number, position: number): number[] {
    const rows = (level === "theme" ? this.#stepsOfTheme : this.#stepsOfCluster).all({ root, position });
    return rows.map(({ node }) => node);
  }
}

function isLog(sessionId: string, generation: number) {
  return and(eq(unions.sessionId, sessionId), eq(unions.generation, generation), ne(unions.level, "subject"));
}
