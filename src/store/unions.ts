import type { SessionLevel } from "../core/handle.ts";
import { GENERATION_AT, GENERATION_NOW } from "./generations.ts";
import type { StoreDatabase } from "./open.ts";
import type { unions } from "./schema.ts";

/** One row of the log of a session's own forest; `id` is its position. */
export type UnionRow = Omit<typeof unions.$inferSelect, "sessionId" | "generation" | "level" | "kind"> & {
  level: "cluster" | "theme";
  kind: "start" | "join" | "settle" | "unite";
};

/** A step that entered a cluster. */
export interface Entry {
  /** Log position. */
  position: number;
  /** First message of the step. */
  stepId: number;
  clusterRoot: number;
}

/**
 * The tree under a root as it stood at a log position: the clusters of a theme, found downwards through the unites that
 * named them. In its generation a root is absorbed once and for all, so every unite into a node that happened by the
 * position counts.
 */
const TREE = `
  WITH RECURSIVE tree(root) AS (
    SELECT @root
    UNION
    SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
    WHERE u.level = 'theme' AND u.kind = 'unite' AND u.id <= @position AND u.generation = ${GENERATION_AT}
  )`;

/**
 * Rows of the log, and the trees they make: of the generation in use, unless a log position says of which.
 */
export class UnionRepository {
  readonly #insert;
  readonly #newestPosition;
  readonly #deleteOf;
  readonly #lastPosition;
  readonly #ofSession;
  readonly #stepsOfTheme;
  readonly #stepsOfCluster;
  readonly #newestEntries;
  readonly #uniteOf;
  readonly #entryOf;
  readonly #started;

  constructor({ client }: StoreDatabase) {
    this.#insert = client.prepare<[number, string, number, string, string, number, number, number | null]>(
      "INSERT INTO unions (id, session_id, generation, level, kind, node, root, score) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#newestPosition = client.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'unions'").pluck();
    this.#deleteOf = client.prepare<[string, number]>(
      "DELETE FROM unions WHERE session_id = ? AND generation = ? AND level <> 'subject'",
    );
    this.#lastPosition = client
      .prepare<[string], number>(
        `SELECT max(id) FROM unions WHERE session_id = ? AND level <> 'subject' AND generation = ${GENERATION_NOW}`,
      )
      .pluck();
    this.#ofSession = client.prepare<[string, number], UnionRow>(
      `SELECT id, level, kind, node, root, score FROM unions
       WHERE session_id = ? AND generation = ? AND level <> 'subject' ORDER BY id`,
    );
    this.#stepsOfCluster = client
      .prepare<{ root: number; position: number }, number>(
        `SELECT node FROM unions WHERE root = @root AND level = 'cluster' AND kind IN ('start', 'join') AND id <= @position
           AND generation = ${GENERATION_AT}`,
      )
      .pluck();
    this.#stepsOfTheme = client
      .prepare<{ root: number; position: number }, number>(
        `${TREE} SELECT u.node FROM tree JOIN unions u ON u.root = tree.root
         WHERE u.level = 'cluster' AND u.kind IN ('start', 'join') AND u.id <= @position
           AND u.generation = ${GENERATION_AT}`,
      )
      .pluck();
    this.#newestEntries = client.prepare<[string, number], Entry>(
      `SELECT id AS position, node AS stepId, root AS clusterRoot FROM unions
       WHERE session_id = ? AND level = 'cluster' AND kind IN ('start', 'join') AND generation = ${GENERATION_NOW}
       ORDER BY id DESC LIMIT ?`,
    );
    this.#uniteOf = client.prepare<[number], { position: number; root: number }>(
      `SELECT id AS position, root FROM unions
       WHERE node = ? AND kind = 'unite' AND level <> 'subject' AND generation = ${GENERATION_NOW}`,
    );
    this.#entryOf = client.prepare<[number], Entry>(
      `SELECT id AS position, node AS stepId, root AS clusterRoot FROM unions
       WHERE node = ? AND kind IN ('start', 'join') AND level <> 'subject' AND generation = ${GENERATION_NOW}`,
    );
    this.#started = client.prepare<{ root: number; position: number }, { position: number; sessionId: string }>(
      `SELECT id AS position, session_id AS sessionId FROM unions
       WHERE node = @root AND kind = 'start' AND level <> 'subject' AND generation = ${GENERATION_AT}`,
    );
  }

  /** The newest position ever given in this store, of any session. */
  newestPosition(): number {
    return this.#newestPosition.get() ?? 0;
  }

  add(sessionId: string, generation: number, { id, level, kind, node, root, score }: UnionRow): void {
    this.#insert.run(id, sessionId, generation, level, kind, node, root, score);
  }

  /** Put other rows in place of a session's log of one generation. */
  replace(sessionId: string, generation: number, rows: readonly UnionRow[]): void {
    this.#deleteOf.run(sessionId, generation);
    for (const row of rows) this.add(sessionId, generation, row);
  }

  /** Position of the session's last union; 0 before the first. */
  lastPosition(sessionId: string): number {
    return this.#lastPosition.get(sessionId) ?? 0;
  }

  ofSession(sessionId: string, generation: number): UnionRow[] {
    return this.#ofSession.all(sessionId, generation);
  }

  /** First messages of the steps that a root of the given level held at a position, in no order. */
  stepsOf(level: SessionLevel, root: number, position: number): number[] {
    return (level === "theme" ? this.#stepsOfTheme : this.#stepsOfCluster).all({ root, position });
  }

  /** Steps that entered the session's forest, newest first. */
  newestEntries(sessionId: string, limit: number): Entry[] {
    return this.#newestEntries.all(sessionId, limit);
  }

  /** The unite that absorbed this root, or undefined while it is a theme's root. */
  uniteOf(root: number): { position: number; root: number } | undefined {
    return this.#uniteOf.get(root);
  }

  /** The cluster that a step is in, by its first message; undefined while it has not graduated. */
  clusterOf(stepId: number): number | undefined {
    return this.entryOf(stepId)?.clusterRoot;
  }

  /** Where a step entered the forest; undefined while it has not graduated. */
  entryOf(stepId: number): Entry | undefined {
    return this.#entryOf.get(stepId);
  }

  /** Where a root began in the generation of a position: every root of a theme was once the root of a cluster. */
  started(root: number, position: number): { position: number; sessionId: string } | undefined {
    return this.#started.get({ root, position });
  }
}
