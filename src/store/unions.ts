import { and, asc, eq, ne } from "drizzle-orm";
import type { SessionLevel } from "../core/handle.ts";
import { GENERATION_AT, GENERATION_NOW } from "./generations.ts";
import type { StoreDatabase } from "./open.ts";
import { unions } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

export const UNION = columns(unions);

/** One row of the log of a session's own forest. `id` is its log position. */
export type UnionRow = Omit<RowOf<typeof UNION>, "sessionId" | "generation" | "level" | "kind"> & {
  level: "cluster" | "theme";
  kind: "start" | "join" | "settle" | "unite";
};

/** A step that entered a cluster. */
export interface EnteredStep {
  /** The log position. */
  position: number;
  /** The first message of the step. */
  stepId: number;
  clusterRoot: number;
}

type At = { root: number; position: number };

const ENTERED = "SELECT id AS position, node AS stepId, root AS clusterRoot FROM unions";

const statements = ({ statement }: StoreDatabase) => ({
  // Moves of the frontier, resumes, renders and recalls run these.
  insert: statement<RowOf<typeof UNION>>`${UNION.insert()}`,
  lastPosition: statement<[sessionId: string], number | null>`
    SELECT max(id) FROM unions WHERE session_id = ? AND level <> 'subject' AND generation = ${GENERATION_NOW}`.pluck(),
  stepsOfCluster: statement<At, number>`
    SELECT node FROM unions WHERE root = @root AND level = 'cluster' AND kind IN ('start', 'join') AND id <= @position
    AND generation = ${GENERATION_AT}`.pluck(),
  newestEntered: statement<[sessionId: string, limit: number], EnteredStep>`
    ${ENTERED} WHERE session_id = ? AND level = 'cluster' AND kind IN ('start', 'join') AND generation = ${GENERATION_NOW}
    ORDER BY id DESC LIMIT ?`,
  uniteOf: statement<[root: number], { position: number; root: number }>`
    SELECT id AS position, root FROM unions
    WHERE node = ? AND kind = 'unite' AND level <> 'subject' AND generation = ${GENERATION_NOW}`,
  entered: statement<[stepId: number], EnteredStep>`
    ${ENTERED} WHERE node = ? AND kind IN ('start', 'join') AND level <> 'subject' AND generation = ${GENERATION_NOW}`,
  started: statement<At, { position: number; sessionId: string }>`
    SELECT id AS position, ${columns(unions, "sessionId")} FROM unions
    WHERE node = @root AND kind = 'start' AND level <> 'subject' AND generation = ${GENERATION_AT}`,
  // A table of SQLite's own.
  newestPosition: statement<[], number>`SELECT seq FROM sqlite_sequence WHERE name = 'unions'`.pluck(),
  // Recursive. A root is absorbed at most once, so the tree under a root at a log position is found downwards, by the
  // unites up to that position.
  stepsOfTheme: statement<At, number>`
    WITH RECURSIVE tree(root) AS (
      SELECT @root
      UNION
      SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
      WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
    )
    SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
    WHERE u.level = 'cluster' AND u.kind IN ('start', 'join') AND u.id <= @position AND u.generation = ${GENERATION_AT}`.pluck(),
});

/** Rows of the log, and the trees that they make. They are of the generation in use unless a log position names another. */
export class UnionRepository {
  readonly #orm;
  readonly #statements;

  constructor(database: StoreDatabase) {
    this.#orm = database.orm;
    this.#statements = statements(database);
  }

  /** The newest log position that this store ever gave, to any session. */
  newestPosition(): number {
    return this.#statements.newestPosition.get() ?? 0;
  }

  add(sessionId: string, generation: number, { id, level, kind, node, root, score }: UnionRow): void {
    this.#statements.insert.run({ id, sessionId, generation, level, kind, node, root, score });
  }

  /** Replaces a session's log of one generation. */
  replace(sessionId: string, generation: number, rows: readonly UnionRow[]): void {
    this.#orm.delete(unions).where(isLog(sessionId, generation)).run();
    for (const row of rows) this.add(sessionId, generation, row);
  }

  /** The log position of the session's last union; 0 before the first. */
  lastPosition(sessionId: string): number {
    return this.#statements.lastPosition.get(sessionId) ?? 0;
  }

  ofSession(sessionId: string, generation: number): UnionRow[] {
    const log = this.#orm.select().from(unions).where(isLog(sessionId, generation)).orderBy(asc(unions.id));
    return log.all() as UnionRow[];
  }

  /** The first messages of the steps that a root of this level held at a log position, in no order. */
  stepsOf(level: SessionLevel, root: number, position: number): number[] {
    const { stepsOfTheme, stepsOfCluster } = this.#statements;
    return (level === "theme" ? stepsOfTheme : stepsOfCluster).all({ root, position });
  }

  /** The steps that entered the session's forest last, newest first. */
  newestEntered(sessionId: string, limit: number): EnteredStep[] {
    return this.#statements.newestEntered.all(sessionId, limit);
  }

  /** The unite that absorbed this root; undefined while it is the root of a theme. */
  uniteOf(root: number): { position: number; root: number } | undefined {
    return this.#statements.uniteOf.get(root);
  }

  /** The log position at which a step entered the forest, and its cluster; undefined while it is not in the forest. */
  entered(stepId: number): EnteredStep | undefined {
    return this.#statements.entered.get(stepId);
  }

  /** The log position at which a root started, in the generation of `position`. Every theme's root was a cluster's root first. */
  started(root: number, position: number): { position: number; sessionId: string } | undefined {
    return this.#statements.started.get({ root, position });
  }
}

function isLog(sessionId: string, generation: number) {
  return and(eq(unions.sessionId, sessionId), eq(unions.generation, generation), ne(unions.level, "subject"));
}
