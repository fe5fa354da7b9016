import { DamageError, parseStored } from "../../core/damage.ts";
import type { SubjectCluster, SubjectRow } from "../../forest/subjects.ts";
import { isUsable, normalize } from "../../vector/vector.ts";
import { GENERATION_AT } from "../facts/generations.ts";
import { IS_BEGUN_HERE } from "../facts/paths.ts";
import { Repository } from "../file/repository.ts";
import { isOfStep, MESSAGE } from "../sql/message-columns.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { CLUSTER } from "./cluster-rows.ts";
import type { DatedCluster } from "./clusters.ts";
import { isEntry, type RootAt, UNDONE, UNION } from "./unions.ts";

export interface SettledCluster {
  cluster: SubjectCluster;
  settledAt: number;
  /** Null until the cluster is assigned to a subject. */
  subject: number | null;
}

export interface AssignedCluster {
  root: number;
  sessionId: string;
  /** The root of its subject. A cluster that starts a subject is its own root. */
  subject: number;
  /** Undefined if the cluster starts its subject. */
  similarity: number | undefined;
}

const ASSIGNED = columns(TABLES.clusters, "sessionId").of("c");

/** A cluster of a subject, with the time of its last message. */
export type SubjectMember = DatedCluster & { lastAtMs: number };

const SESSION = columns(TABLES.sessions);
const SETTLED = columns(TABLES.clusters, "sessionId", "centroidSum", "settledAt", "atMsLast");
type SettledRow = RowOf<typeof SETTLED> & { root: number; settledAt: number; subject: number | null };

/** Tells whether a row of the log was there at a log position, in the generation of that position. */
type IsHeld = (row: { id: number; generation: number }) => boolean;

/** Rows of the log about subjects, and `clusters.subject_parent_id`. Sessions without a project are one project. */
export class SubjectRepository extends Repository {
  // Upkeep runs these for each cluster that settled, and a recall or an expansion for each of its results.
  readonly #put = this.statement<InsertOf<typeof UNION>>`${UNION.upsert()}`;
  readonly #named = this.statement<{ generation: number; name: number }, RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE level = 'subject' AND generation = @generation AND @name IN (node, root)`;
  readonly setRoot = this.statement<[subject: number | null, cluster: number]>`
    UPDATE clusters AS c SET subject_parent_id = ? WHERE root_id = ? AND ${IS_BEGUN_HERE}`.run;
  /** The log position at which the first cluster of a session settled; NULL if none did. */
  readonly #firstSettled = this.statement<[sessionId: string], number | null>`
    SELECT min(settled_at) FROM clusters WHERE session_id = ?`.pluck().one;
  readonly #assignedFrom = this.statement<
    { project: string | null; settledFrom: number },
    { root: number; sessionId: string }
  >`
    SELECT c.root_id AS root, ${ASSIGNED} FROM clusters c JOIN sessions s ON s.id = c.session_id
    WHERE c.settled_at >= @settledFrom AND c.subject_parent_id IS NOT NULL AND s.project IS @project
    ORDER BY c.settled_at`.all;
  readonly ofSession = this.statement<[sessionId: string, generation: number], SubjectRow>`
    SELECT id, kind, node, root FROM unions
    WHERE session_id = ? AND level = 'subject' AND generation = ? ORDER BY id`.all;
  readonly #forget = this.statement<{ generation: number; roots: string }>`
    DELETE FROM unions WHERE level = 'subject' AND generation = @generation
      AND (kind = 'unite' AND root IN (SELECT value FROM json_each(@roots))
        OR node IN (SELECT value FROM json_each(@roots)))`.run;
  /** The roots of subjects of at least two sessions, most tokens first. The most frequent subjects are often boilerplate. */
  readonly longLived = this.statement<[], number>`
    SELECT subject_parent_id FROM clusters WHERE subject_parent_id IS NOT NULL GROUP BY subject_parent_id
    HAVING count(DISTINCT session_id) > 1 ORDER BY sum(token_count) DESC, subject_parent_id`.pluck().all;
  readonly #ofCluster = this.statement<[cluster: number], RowOf<typeof UNION>>`
    SELECT ${UNION} FROM unions WHERE node = ? AND level = 'subject' ORDER BY id`;
  readonly #ofRoot = this.statement<[root: number], RowOf<typeof UNION>>`SELECT ${UNION} FROM unions WHERE root = ?`;
  readonly #undoneOf = this.statement<[root: number], RowOf<typeof UNDONE>>`
    SELECT ${UNDONE} FROM undone_unions WHERE root = ?`;
  readonly #generationAt = this.statement<{ position: number }, number>`SELECT ${GENERATION_AT}`.pluck().one;
  /**
   * Some messages and those of some steps, both as JSON: oldest session first, each in order. It tells those of steps that are in
   * another one by their rows.
   */
  readonly #inOrder = this.statement<
    { steps: string; ids: string },
    { id: number; isStray: number; holderId: string; pathId: string | null }
  >`
    SELECT held.id, held.step <> m.step_id AS isStray, m.session_id AS holderId, path.id AS pathId
    FROM (
      SELECT m.id, step.value AS step FROM json_each(@steps) step JOIN messages m ON ${isOfStep("step.value")}
      UNION ALL SELECT stored.id, NULL FROM json_each(@ids) given JOIN messages stored ON stored.id = given.value
    ) held
    LEFT JOIN messages m ON m.id = held.id
    LEFT JOIN sessions s ON s.id = m.session_id
    LEFT JOIN sessions path ON path.id = s.parent_session_id AND s.superseded_at_ms IS NOT NULL
    ORDER BY coalesce(path.created_at_ms, s.created_at_ms), coalesce(path.id, s.id), m.seq`;
  /** Whole rows, so that their checksums are compared. */
  readonly #sessions = this.statement<[ids: string], RowOf<typeof SESSION>>`
    SELECT ${SESSION} FROM sessions WHERE id IN (SELECT value FROM json_each(?))`;
  // Hints for indexes. The plus makes SQLite begin with the index of settled clusters, and not with the sessions. `NOT
  // INDEXED` makes it begin at a log position.
  /** Clusters of a project that settled after a log position, in order. */
  readonly settledAfter = this.statement<{ project: string | null; position: number; limit: number }, SettledRow>`
    SELECT c.root_id AS root, ${SETTLED.of("c")}, c.subject_parent_id AS subject
    FROM clusters c JOIN sessions s ON s.id = c.session_id
    WHERE c.settled_at > @position AND +s.project IS @project AND ${IS_BEGUN_HERE} ORDER BY c.settled_at LIMIT @limit`.map(
    settledCluster,
  ).all;
  readonly isDissolvedAfter = this.statement<[position: number], number>`
    SELECT EXISTS (SELECT 1 FROM unions NOT INDEXED WHERE id > ? AND level = 'subject' AND kind = 'dissolve')`
    .pluck()
    .map((found) => found === 1).one;
  readonly #clustersOf = this.statement<[root: number], RowOf<typeof CLUSTER>>`
    SELECT ${CLUSTER} FROM clusters WHERE subject_parent_id = ?`;
  /** The first message of a cluster, which is its root, and the last. */
  readonly #ends = this.statement<{ rootId: number; sessionId: string; seqLast: number }, RowOf<typeof MESSAGE>>`
    SELECT ${MESSAGE} FROM messages WHERE id IN (
      SELECT @rootId UNION SELECT id FROM messages WHERE session_id = @sessionId AND seq = @seqLast)`;
  /** Projects with settled clusters that have no subject. Null stands for sessions without a project. */
  readonly projectsToAssign = this.statement<[], string | null>`
    SELECT DISTINCT s.project FROM clusters c INDEXED BY clusters_unassigned CROSS JOIN sessions s ON s.id = c.session_id
    WHERE c.settled_at IS NOT NULL AND c.subject_parent_id IS NULL AND ${IS_BEGUN_HERE} ORDER BY s.project`.pluck().all;
  /** Clusters that are assigned to a subject of another project. */
  readonly crossingCount = this.statement<[], number>`
    SELECT count(*) FROM clusters c
    JOIN sessions s ON s.id = c.session_id
    JOIN clusters r ON r.root_id = c.subject_parent_id AND r.subject_parent_id IS NOT NULL
    JOIN sessions rs ON rs.id = r.session_id
    WHERE c.subject_parent_id <> c.root_id AND rs.project IS NOT s.project`.pluck().one;
  /** Rows of the log that unite a cluster with a subject that had not started. */
  readonly strayCount = this.statement<[], number>`
    SELECT count(*) FROM unions u WHERE u.level = 'subject' AND u.kind = 'unite' AND NOT EXISTS (
      SELECT 1 FROM unions s WHERE s.level = 'subject' AND s.node = u.root AND s.kind = 'start' AND s.id < u.id
        AND s.generation = u.generation)`.pluck().one;

  /** Logs an assignment in one or two rows from `position` on. @returns the position after the last row. */
  assign(generation: number, position: number, { root, sessionId, subject, similarity }: AssignedCluster): number {
    const row = { sessionId, generation, level: "subject", node: root } as const;
    this.#put.run({ ...row, id: position, kind: "start", root, score: null });
    this.setRoot(subject, root);
    if (subject === root) return position + 1;
    this.#put.run({ ...row, id: position + 1, kind: "unite", root: subject, score: similarity ?? null });
    return position + 2;
  }

  /** The log position at which the first cluster of a session settled; undefined if none did. */
  firstSettled(sessionId: string): number | undefined {
    return this.#firstSettled(sessionId) ?? undefined;
  }

  /**
   * Takes the clusters of a project that settled at `settledFrom` or later out of their subjects.
   *
   * @param position  The log position of the first row to add.
   */
  dissolveFrom(project: string | null, settledFrom: number, generation: number, position: number): void {
    const row = { generation, level: "subject", kind: "dissolve", score: null } as const;
    this.#assignedFrom({ project, settledFrom }).forEach(({ root, sessionId }, index) => {
      this.#put.run({ ...row, id: position + index, sessionId, node: root, root });
      this.setRoot(null, root);
    });
  }

  /** Deletes a generation's log rows about some clusters, and about clusters that were united with them. */
  forget(generation: number, roots: readonly number[]): void {
    this.#forget({ generation, roots: JSON.stringify(roots) });
  }

  /** Renames a cluster whose root was forgotten. */
  rename(generation: number, from: number, to: number): void {
    const renamed = (name: number): number => (name === from ? to : name);
    for (const row of this.#named.all({ generation, name: from })) {
      this.#put.run({ ...row, node: renamed(row.node), root: renamed(row.root) });
    }
  }

  /** The log position at which a cluster was first assigned, in the generation of `position`. */
  started({ root, position }: RootAt): number | undefined {
    const generation = this.#generationAt({ position });
    return this.#ofCluster.all(root).find((row) => row.generation === generation)?.id;
  }

  /** The root of a cluster's subject at a log position; undefined if the cluster was not assigned. */
  rootAt({ root, position }: RootAt): number | undefined {
    return this.#rootIn(root, this.#isHeldAt(position));
  }

  #rootIn(cluster: number, isHeld: IsHeld): number | undefined {
    const last = this.#ofCluster.all(cluster).findLast(isHeld);
    return last === undefined || last.kind === "dissolve" ? undefined : last.root;
  }

  /** The root of a cluster's subject by the log; undefined if it has none. @param position  The newest log position. */
  subjectOf({ rootId, subjectParentId }: Pick<RowOf<typeof CLUSTER>, "rootId" | "subjectParentId">, position: number) {
    return subjectParentId === null ? undefined : this.rootAt({ root: rootId, position });
  }

  #isHeldAt(position: number): IsHeld {
    const generation = this.#generationAt({ position });
    return (row) => row.id <= position && row.generation === generation;
  }

  /** The roots of the clusters of a subject at a log position, by the log. */
  clusterRootsAt({ root, position }: RootAt): Set<number> {
    const isHeld = this.#isHeldAt(position);
    const united = this.#ofRoot.all(root).filter((row) => {
      return row.level === "subject" && row.kind === "unite" && isHeld(row) && this.#rootIn(row.node, isHeld) === root;
    });
    return new Set([root, ...united.map(({ node }) => node)]);
  }

  /**
   * The messages of a subject at a log position: oldest session first, each in order. A fork and the session that it shares may both
   * have let a step in.
   *
   * @throws {DamageError} if the index by step names one of another step, or if a session is damaged.
   */
  messageIds(at: RootAt): number[] {
    const { position } = at;
    const roots = [...this.clusterRootsAt(at)];
    const isHeld = this.#isHeldAt(position);
    const held = roots.flatMap((root) => this.#ofRoot.all(root).filter((row) => isEntry(row) && isHeld(row)));
    const undone = roots.flatMap((root) => {
      return this.#undoneOf.all(root).filter((row) => isEntry(row) && isHeld(row) && row.undoneAt > position);
    });
    const ids = undone.flatMap(({ members }) => parseStored(members ?? "[]") as number[]);
    const steps = held.map(({ node }) => node);
    const rows = this.#inOrder.all({ steps: JSON.stringify(steps), ids: JSON.stringify(ids) });
    const stray = rows.find(({ isStray }) => isStray === 1);
    if (stray !== undefined) throw new DamageError(`the index by step has message ${stray.id} in a wrong step`);
    this.#sessions.all(JSON.stringify([...new Set(rows.flatMap(({ holderId, pathId }) => [holderId, pathId]))]));
    return [...new Set(rows.map(({ id }) => id))];
  }

  /** The clusters of a subject, in no order. */
  clustersOf(root: number, position: number): RowOf<typeof CLUSTER>[] {
    const logged = this.clusterRootsAt({ root, position });
    return this.#clustersOf.all(root).filter(({ rootId }) => logged.has(rootId));
  }

  /** Adds the times of a cluster's first and last message. @throws {DamageError} if one of them is missing. */
  dated(row: RowOf<typeof CLUSTER>): SubjectMember {
    const { rootId, sessionId, seqLast } = row;
    const ends = this.#ends.all({ rootId, sessionId, seqLast });
    const first = ends.find(({ id }) => id === rootId);
    const last = ends.find((end) => end.sessionId === sessionId && end.seq === seqLast);
    if (first === undefined || last === undefined) {
      throw new DamageError(`the first or the last message of cluster ${rootId} is missing`);
    }
    return { ...row, firstAtMs: first.createdAtMs, lastAtMs: last.createdAtMs };
  }
}

function settledCluster({ root, sessionId, centroidSum, settledAt, atMsLast, subject }: SettledRow) {
  const direction = isUsable(centroidSum) ? normalize(centroidSum) : undefined;
  return { cluster: { root, sessionId, lastAtMs: atMsLast, direction }, settledAt, subject };
}
